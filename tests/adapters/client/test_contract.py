"""The use cases keep what they promise: in this process, and through a client of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from attrs import frozen

from recipient_fields.adapters.client import RecipientFieldsClient
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.application import RecipientFields, RecipientFieldService, Storage
from recipient_fields.testing import RecipientFieldsContract

from .live import Application, Keyring, application, served


@frozen
class Offer:
    """The use cases, and the storage they stand on."""

    storage: Storage
    service: RecipientFields


def service_over(storage: Storage) -> RecipientFieldService:
    return RecipientFieldService(fields=storage.fields, limit=RecipientFieldsContract.limit)


@contextmanager
def offered(storage: Storage, app: Application, path: str = "") -> Iterator[Offer]:
    """A client of the application, which is served at a socket."""
    with (
        served(app) as url,
        RecipientFieldsClient(url + path, keys=Keyring(storage)) as client,
    ):
        yield Offer(storage, client)


@pytest.fixture(scope="module")
def in_process() -> Offer:
    storage = MemoryStorage()
    return Offer(storage, service_over(storage))


@pytest.fixture(scope="module")
def over_memory() -> Iterator[Offer]:
    storage = MemoryStorage()
    with offered(storage, application(storage, service_over(storage))) as offer:
        yield offer


@pytest.fixture(scope="module")
def over_postgres(shared_database: str) -> Iterator[Offer]:
    with (
        closing(PostgresStorage(shared_database)) as storage,
        offered(storage, application(storage, service_over(storage))) as offer,
    ):
        yield offer


@pytest.fixture(scope="module")
def under_a_path() -> Iterator[Offer]:
    storage = MemoryStorage()
    app = application(storage, service_over(storage))

    def mounted(environ, start_response):
        assert environ["PATH_INFO"].startswith("/tools/fields/api/")
        environ["SCRIPT_NAME"] = "/tools/fields"
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/tools/fields")
        return app(environ, start_response)

    with offered(storage, mounted, "/tools/fields/") as offer:
        yield offer


class Contract(RecipientFieldsContract):
    @pytest.fixture
    def storage(self, offer: Offer) -> Storage:
        return offer.storage

    @pytest.fixture
    def service(self, offer: Offer) -> RecipientFields:
        return offer.service


class TestInProcess(Contract):
    @pytest.fixture
    def offer(self, in_process: Offer) -> Offer:
        return in_process


class TestClientOfAServiceOverMemory(Contract):
    @pytest.fixture
    def offer(self, over_memory: Offer) -> Offer:
        return over_memory


class TestClientOfAServiceOverPostgres(Contract):
    @pytest.fixture
    def offer(self, over_postgres: Offer) -> Offer:
        return over_postgres


class TestClientOfAServiceUnderAPath(Contract):
    @pytest.fixture
    def offer(self, under_a_path: Offer) -> Offer:
        return under_a_path
