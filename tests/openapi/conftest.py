"""The service in this process, with a fixed time and a field of each origin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import falcon
import pytest
from attrs import evolve, frozen
from falcon.testing import Result, TestClient

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    AllowedValues,
    Author,
    DataType,
    FieldDraft,
    OrganizationId,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import SetName
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.http.openapi.document import document
from recipient_fields.entrypoints.service.selection import open_storage

from .live import bearer

FIELDS = "/api/v1/recipient_fields"
BATCHES = "/api/v1/recipient_field_batches"
HISTORY = "/api/v1/recipient_field_changes"
CONDITIONS = "/api/v1/condition_compilations"


@frozen
class ApiClient:
    """A client of the application, with an API key or without one."""

    app: falcon.App[Any, Any]
    key: str | None = None

    def request(self, method: str, path: str, document: object = None, **arguments: Any) -> Result:
        headers = {} if self.key is None else bearer(self.key)
        headers |= arguments.pop("headers", {})
        if document is not None:
            arguments["json"] = document
        return TestClient(self.app).simulate_request(method, path, headers=headers, **arguments)


@frozen(kw_only=True)
class Service:
    """The parts of the service with a new storage in memory."""

    core: Core
    organization: OrganizationId
    key: str
    read_only_key: str

    @property
    def client(self) -> ApiClient:
        return ApiClient(create_app(self.core), self.key)

    def reader(self) -> ApiClient:
        return evolve(self.client, key=self.read_only_key)


@pytest.fixture
def service(new_service: Callable[[], Service]) -> Service:
    return new_service()


@pytest.fixture(scope="session")
def new_service() -> Callable[[], Service]:
    return _new_service


def _new_service() -> Service:
    def clock() -> datetime:
        return datetime(2026, 11, 20, 9, 15, 0, 123_000, tzinfo=UTC)

    core = Core.over(open_storage("memory:"), clock=clock)
    administration, fields = core.administration, core.fields
    acme = administration.create_organization("Acme").id
    tiers = AllowedValues(DataType.TEXT, ["gold", "silver", "bronze"])
    fields.create_field(
        acme, FieldDraft(name="Loyalty tier", data_type=DataType.TEXT, allowed_values=tiers)
    )
    administrator = fields.by(Author(ADMINISTRATOR))
    administrator.create_field(acme, FieldDraft(name="Preferred shop", data_type=DataType.TEXT))
    mailchimp = core.integrations.create_integration(acme, esp=Esp.MAILCHIMP, name="Main list")
    core.integrations.sync_fields(acme, mailchimp.id, [])
    core.integrations.set_names(acme, mailchimp.id, {"preferred_shop": SetName("SHOP")})
    synced = fields.by(Author(mailchimp.channel))
    synced.create_field(
        acme, FieldDraft(name="First name", data_type=DataType.TEXT, esp_field_name="FNAME")
    )

    def issue(access: Access) -> str:
        return administration.issue_key(acme, name="Tests", access=access).plain.reveal()

    return Service(
        core=core,
        organization=acme,
        key=issue(Access.READ_WRITE),
        read_only_key=issue(Access.READ_ONLY),
    )


@pytest.fixture(scope="session")
def contract() -> dict[str, Any]:
    """Return the published document."""
    return published_document()


def published_document() -> dict[str, Any]:
    return document(create_app(Core.over(open_storage("memory:"))).routes)
