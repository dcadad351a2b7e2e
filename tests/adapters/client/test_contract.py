"""The contract of RecipientFields, in-process and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing

import pytest
from attrs import frozen

from recipient_fields.adapters.client import RetryPolicy
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.application import HistoryStorage, RecipientFields, RecipientFieldService
from recipient_fields.testing import RecipientFieldsContract

from .live_server import Keyring, application, client_of


@frozen
class Implementation:
    """An implementation of RecipientFields, and the storage that it uses."""

    storage: HistoryStorage
    service: RecipientFields


def service_on(storage: HistoryStorage) -> RecipientFieldService:
    return RecipientFieldService(
        fields=storage.fields, history=storage.history, limit=RecipientFieldsContract.limit
    )


def client_on(storage: HistoryStorage) -> AbstractContextManager[RecipientFields]:
    """Run a service on this storage. Yield a client of it."""
    app = application(storage, service_on(storage))
    return client_of(app, Keyring(storage), RetryPolicy())


@pytest.fixture(scope="module")
def in_process() -> Implementation:
    storage = MemoryStorage()
    return Implementation(storage, service_on(storage))


@pytest.fixture(scope="module")
def client_on_memory() -> Iterator[Implementation]:
    storage = MemoryStorage()
    with client_on(storage) as client:
        yield Implementation(storage, client)


@pytest.fixture(scope="module")
def client_on_postgres(shared_database: str) -> Iterator[Implementation]:
    with closing(PostgresStorage(shared_database)) as storage, client_on(storage) as client:
        yield Implementation(storage, client)


@pytest.fixture(scope="module")
def client_below_a_path() -> Iterator[Implementation]:
    storage = MemoryStorage()
    app = application(storage, service_on(storage))

    def mounted(environ, start_response):
        assert environ["PATH_INFO"].startswith("/tools/fields/api/")
        environ["SCRIPT_NAME"] = "/tools/fields"
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/tools/fields")
        return app(environ, start_response)

    with client_of(mounted, Keyring(storage), RetryPolicy(), "/tools/fields/") as client:
        yield Implementation(storage, client)


class Contract(RecipientFieldsContract):
    @pytest.fixture
    def storage(self, implementation: Implementation) -> HistoryStorage:
        return implementation.storage

    @pytest.fixture
    def service(self, implementation: Implementation) -> RecipientFields:
        return implementation.service


class TestInProcess(Contract):
    @pytest.fixture
    def implementation(self, in_process: Implementation) -> Implementation:
        return in_process


class TestClientOfAServiceOnMemory(Contract):
    @pytest.fixture
    def implementation(self, client_on_memory: Implementation) -> Implementation:
        return client_on_memory


@pytest.mark.slow
class TestClientOfAServiceOnPostgres(Contract):
    @pytest.fixture
    def implementation(self, client_on_postgres: Implementation) -> Implementation:
        return client_on_postgres


@pytest.mark.slow
class TestClientOfAServiceBelowAPath(Contract):
    @pytest.fixture
    def implementation(self, client_below_a_path: Implementation) -> Implementation:
        return client_below_a_path
