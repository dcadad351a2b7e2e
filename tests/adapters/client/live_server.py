"""A service that listens in this process, and its clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeAlias
from wsgiref.types import StartResponse, WSGIEnvironment

from attrs import evolve

from recipient_fields.adapters.client import RecipientFieldsClient, RetryPolicy
from recipient_fields.application import (
    Core,
    KeyValidator,
    RecipientFieldService,
    Storage,
)
from recipient_fields.domain import Access, OrganizationId
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE
from recipient_fields.entrypoints.server.addresses import listen
from recipient_fields.entrypoints.server.listener import Listener
from recipient_fields.entrypoints.service.host_rejections import HostRejections

from ...support.http_server import Handler, StubServer, stub_server

Application: TypeAlias = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]


class Keyring(Mapping[OrganizationId, str]):
    """API keys of the existing organizations. Each is issued at its first lookup."""

    def __init__(self, storage: Storage, access: Access = Access.READ_WRITE) -> None:
        self._storage = storage
        self._access = access
        self._keys: dict[OrganizationId, str] = {}

    def __getitem__(self, organization_id: OrganizationId) -> str:
        if organization_id not in self._keys:
            self._keys[organization_id] = self._issue(organization_id)
        return self._keys[organization_id]

    def _issue(self, organization_id: OrganizationId) -> str:
        if organization_id not in {each.id for each in self._storage.organizations.all()}:
            raise KeyError(organization_id)
        administration = Core.over(self._storage).administration
        issued = administration.issue_key(organization_id, name="Test", access=self._access)
        return issued.plain.reveal()

    def __iter__(self) -> Iterator[OrganizationId]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def application(
    storage: Storage,
    service: RecipientFieldService | None = None,
    validator: KeyValidator | None = None,
) -> Application:
    """Return the WSGI application of a service on this storage."""
    core = Core.over(storage, validator=validator)
    app: Any = create_app(core if service is None else evolve(core, fields=service))
    return app


@contextmanager
def live_server(app: Application, *, threads: int = 8) -> Iterator[str]:
    """Run the application. Yield its URL."""
    listening_socket = listen("127.0.0.1", 0, shared=False)
    listener = Listener(
        app,
        listening_socket,
        reject=HostRejections(),
        max_body_size=MAX_BODY_SIZE,
        threads=threads,
        connections=100,
    )
    thread = Thread(target=listener.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening_socket.getsockname()[1]}"
    finally:
        listener.drain()
        thread.join(20)
        listener.trigger.close()
        assert not thread.is_alive()


NO_RETRIES = RetryPolicy(attempts=1, deadline=5)


@contextmanager
def client_of(
    app: Application,
    keys: Mapping[OrganizationId, str],
    policy: RetryPolicy = NO_RETRIES,
    path: str = "",
) -> Iterator[RecipientFieldsClient]:
    """Run the application. Yield a client of it."""
    with (
        live_server(app) as url,
        RecipientFieldsClient(url + path, keys=keys, retry_policy=policy) as client,
    ):
        yield client


@contextmanager
def stub_service(
    handler: Handler, keys: Mapping[OrganizationId, str], policy: RetryPolicy = NO_RETRIES
) -> Iterator[tuple[StubServer, RecipientFieldsClient]]:
    """Run a server with this handler. Yield it and a client of it."""
    with (
        stub_server(handler) as server,
        RecipientFieldsClient(server.url, keys=keys, retry_policy=policy) as client,
    ):
        yield server, client
