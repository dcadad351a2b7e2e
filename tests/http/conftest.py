"""The service with each storage and a manual clock, and its clients."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import falcon
import pytest
from attrs import evolve, field, frozen

from recipient_fields.application import (
    DEFAULT_CATALOG_SIZE,
    DEFAULT_FIELD_LIMIT,
    AdministrationService,
    Core,
    HistoryStorage,
    IntegrationStorage,
    IssuedKey,
    KeyValidator,
    RecipientFieldService,
    Storage,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Access,
    Author,
    Channel,
    DataType,
    FieldDraft,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.service.selection import open_storage

from .api import Api, falcon_transport

STORAGES = ("memory", "sqlite", "postgresql")
CHANNELS = {"api": API, "manual": ADMINISTRATOR, "integration": sync_channel(IntegrationId(7))}


class Clock:
    """A clock that changes only when `advance` is called."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 9, 15, 0, 123_000, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@frozen
class Harness:
    """The service with one storage."""

    storage: HistoryStorage
    clock: Clock = field(factory=Clock)
    limit: int = DEFAULT_FIELD_LIMIT
    size_limit: int = DEFAULT_CATALOG_SIZE

    @classmethod
    def open(cls, url: str) -> Harness:
        """Open the storage with that URL. The caller closes it."""
        storage = open_storage(url)
        assert isinstance(storage, HistoryStorage)
        return cls(storage)

    @property
    def administration(self) -> AdministrationService:
        return self.core.administration

    @property
    def service(self) -> RecipientFieldService:
        return self.service_with(self.storage.fields)

    def service_with(self, fields: Any) -> RecipientFieldService:
        """Return the application service for another repository."""
        storage = self.storage
        return RecipientFieldService(
            fields=fields,
            history=storage.history,
            integrations=storage.integrations if isinstance(storage, IntegrationStorage) else None,
            clock=self.clock,
            limit=self.limit,
            size_limit=self.size_limit,
        )

    @property
    def validator(self) -> KeyValidator:
        return self.core.validator

    @property
    def core(self) -> Core:
        return Core.over(
            self.storage,
            clock=self.clock,
            field_limit=self.limit,
            catalog_size=self.size_limit,
        )

    def app(
        self, *, fields: Any = None, validator: Any = None, **arguments: Any
    ) -> falcon.App[Any, Any]:
        """Return the application. `arguments` are those of `create_app`."""
        core = evolve(
            self.core, fields=fields or self.service, validator=validator or self.validator
        )
        return create_app(core, **arguments)

    @cached_property
    def default_app(self) -> falcon.App[Any, Any]:
        """The application with default arguments, which the clients share."""
        return self.app()

    def client(self, **parts: Any) -> Api:
        """Return a client without a key. `parts` are arguments of `app`."""
        return Api(falcon_transport(self.app(**parts) if parts else self.default_app))

    def organization(self, name: str = "Bakery") -> OrganizationId:
        return self.administration.create_organization(name).id

    def issue_key(self, organization: OrganizationId, **terms: Any) -> IssuedKey:
        return self.administration.issue_key(organization, name="Test", **terms)

    def client_with_key(self, organization: OrganizationId, **terms: Any) -> Api:
        """Return a client with a new key of that organization."""
        return self.client().with_key(self.issue_key(organization, **terms).plain.reveal())

    def add_field(
        self, organization: OrganizationId, by: Channel, key: str = "shop", **members: Any
    ) -> RecipientField:
        """Create a field through any channel."""
        synced = {} if by.integration_id is None else {"esp_field_name": "SHOP"}
        defaults = {"name": "Shop", "key": key, "data_type": DataType.TEXT}
        draft = FieldDraft(**{**defaults, **synced, **members})
        return self.service.by(Author(by)).create_field(organization, draft)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder, in memory if possible: SQLite waits for the disk at every commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgresql(shared_database: str) -> Iterator[Storage]:
    """Open PostgreSQL once, because a connection takes longer than most tests."""
    storage = open_storage(shared_database)
    yield storage
    storage.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with every storage, or with those in `STORAGES` of its module.

    With a database, it repeats what the contract suite and the test in memory have checked.
    """
    if "storage" in metafunc.fixturenames:
        databases = (pytest.param(each, marks=pytest.mark.slow) for each in STORAGES[1:])
        storages = getattr(metafunc.module, "STORAGES", (STORAGES[0], *databases))
        metafunc.parametrize("storage", storages, indirect=True)


@pytest.fixture
def storage(request: pytest.FixtureRequest, folder: Path) -> Iterator[Storage]:
    if request.param == "postgresql":
        request.getfixturevalue("emptied_database")
        yield request.getfixturevalue("postgresql")
        return
    urls = {"memory": "memory:", "sqlite": f"sqlite:{folder / 'fields.db'}"}
    storage = open_storage(urls[request.param])
    yield storage
    storage.close()


@pytest.fixture
def closed(folder: Path) -> Storage:
    """Return a closed storage, whose methods all fail."""
    storage = open_storage(f"sqlite:{folder / 'closed.db'}")
    storage.close()
    return storage


@pytest.fixture
def harness(storage: Storage) -> Harness:
    assert isinstance(storage, HistoryStorage)
    return Harness(storage)


@pytest.fixture
def clock(harness: Harness) -> Clock:
    return harness.clock


@pytest.fixture
def bakery(harness: Harness) -> OrganizationId:
    return harness.organization("Bakery")


@pytest.fixture
def api(harness: Harness, bakery: OrganizationId) -> Api:
    """Return a client of the bakery."""
    return harness.client_with_key(bakery)


@pytest.fixture
def reader(harness: Harness, bakery: OrganizationId) -> Api:
    """Return a client of the bakery with a read-only key."""
    return harness.client_with_key(bakery, access=Access.READ_ONLY)


@pytest.fixture
def brewery(harness: Harness) -> Api:
    """Return a client of another organization."""
    return harness.client_with_key(harness.organization("Brewery"))


@pytest.fixture
def city(api: Api) -> dict[str, Any]:
    """Create a field through the API."""
    created = api.post({"name": "City", "data_type": "text"})
    assert created.status == 201
    return created.field


@pytest.fixture(params=["manual", "integration"])
def foreign(
    request: pytest.FixtureRequest, harness: Harness, bakery: OrganizationId
) -> RecipientField:
    """Create a field of the bakery that the API can only read."""
    return harness.add_field(bakery, CHANNELS[request.param])
