"""The service over each storage, with its clock in our hands, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import falcon
import pytest
from attrs import field, frozen

from recipient_fields.application import (
    DEFAULT_FIELD_LIMIT,
    AdministrationService,
    IssuedKey,
    RecipientFieldService,
    Storage,
    StoredKeyValidator,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Access,
    Channel,
    DataType,
    FieldDraft,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.selection import open_storage

from .api import Api, through_falcon

STORAGES = ("memory", "sqlite", "postgresql")
CHANNELS = {"api": API, "manual": ADMINISTRATOR, "integration": sync_channel(IntegrationId(7))}


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 9, 15, 0, 123_000, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


@frozen
class Stand:
    """The whole service over one storage."""

    storage: Storage
    clock: Clock = field(factory=Clock)
    limit: int = DEFAULT_FIELD_LIMIT

    @classmethod
    def over(cls, url: str) -> Stand:
        """A stand over the storage of that URL, which is to be closed."""
        return cls(open_storage(url))

    @property
    def administration(self) -> AdministrationService:
        return AdministrationService(
            organizations=self.storage.organizations,
            api_keys=self.storage.api_keys,
            clock=self.clock,
        )

    @property
    def service(self) -> RecipientFieldService:
        return self.service_over(self.storage.fields)

    def service_over(self, fields: Any) -> RecipientFieldService:
        """The use cases over another repository."""
        return RecipientFieldService(fields=fields, clock=self.clock, limit=self.limit)

    @property
    def validator(self) -> StoredKeyValidator:
        return StoredKeyValidator(self.storage.api_keys, self.clock)

    def app(self, **parts: Any) -> falcon.App[Any, Any]:
        """The application; `service`, `validator` and `check` may be others."""
        usual = {
            "service": self.service,
            "validator": self.validator,
            "check": self.storage.check,
        }
        return create_app(**{**usual, **parts})

    def client(self, **parts: Any) -> Api:
        """A client without a key."""
        return Api(through_falcon(self.app(**parts)))

    def organization(self, name: str = "Bakery") -> OrganizationId:
        return self.administration.create_organization(name).id

    def issue(self, organization: OrganizationId, **terms: Any) -> IssuedKey:
        return self.administration.issue_key(organization, name="Test", **terms)

    def bearer(self, organization: OrganizationId, **terms: Any) -> Api:
        """A client with a new key of that organization."""
        return self.client().bearing(self.issue(organization, **terms).plain.reveal())

    def add(
        self, organization: OrganizationId, by: Channel, key: str = "shop", **members: Any
    ) -> RecipientField:
        """A field made through any channel."""
        synced = {} if by.integration_id is None else {"esp_field_name": "SHOP"}
        usual = {"name": "Shop", "key": key, "data_type": DataType.TEXT}
        draft = FieldDraft(**{**usual, **synced, **members})
        return self.service.through(by).create_field(organization, draft)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder, in memory where the system has one: SQLite waits for its disk at every commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgresql(shared_database: str) -> Iterator[Storage]:
    """PostgreSQL, opened once: connections take longer than most tests."""
    storage = open_storage(shared_database)
    yield storage
    storage.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs on every storage, unless its module names those that it needs."""
    if "storage" in metafunc.fixturenames:
        storages = getattr(metafunc.module, "STORAGES", STORAGES)
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
    """A storage that fails whatever it is asked."""
    storage = open_storage(f"sqlite:{folder / 'closed.db'}")
    storage.close()
    return storage


@pytest.fixture
def stand(storage: Storage) -> Stand:
    return Stand(storage)


@pytest.fixture
def clock(stand: Stand) -> Clock:
    return stand.clock


@pytest.fixture
def bakery(stand: Stand) -> OrganizationId:
    return stand.organization("Bakery")


@pytest.fixture
def api(stand: Stand, bakery: OrganizationId) -> Api:
    """The bakery's client."""
    return stand.bearer(bakery)


@pytest.fixture
def reader(stand: Stand, bakery: OrganizationId) -> Api:
    """The bakery's client that may only read."""
    return stand.bearer(bakery, access=Access.READ_ONLY)


@pytest.fixture
def brewery(stand: Stand) -> Api:
    """Another organization's client."""
    return stand.bearer(stand.organization("Brewery"))


@pytest.fixture
def city(api: Api) -> dict[str, Any]:
    """A field that was made through the API."""
    created = api.post({"name": "City", "data_type": "text"})
    assert created.status == 201
    return created.field


@pytest.fixture(params=["manual", "integration"])
def foreign(request: pytest.FixtureRequest, stand: Stand, bakery: OrganizationId) -> RecipientField:
    """A field of the bakery that the API may only read."""
    return stand.add(bakery, CHANNELS[request.param])
