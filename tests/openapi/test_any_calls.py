"""No sequence of requests changes fields of other origins or organizations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen
from falcon.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    Author,
    DataType,
    FieldDraft,
    IntegrationId,
    OrganizationId,
    RecipientField,
    Source,
    sync_channel,
)
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.service.selection import open_core

from .conftest import BATCHES, FIELDS, ApiClient

pytestmark = pytest.mark.slow

KEYS = ("loyalty_tier", "preferred_shop", "first_name", "shoe_size")

OPERATIONS = {"POST": "create", "PATCH": "update", "PUT": "replace", "DELETE": "delete"}

values = {
    "name": st.sampled_from(["Shop", "Loyalty tier", "Ünïcode"]),
    "data_type": st.sampled_from(["text", "number"]),
    "insertable": st.booleans(),
    "allowed_values": st.sampled_from([None, ["gold", "silver"], [1, 2]]),
    "custom_insertion_code": st.sampled_from([None, "{{ x }}"]),
    "source": st.sampled_from(["api", "manual", "integration"]),
}
bodies = st.fixed_dictionaries(
    {}, optional={**values, "key": st.sampled_from(KEYS), "id": st.integers(1, 9)}
)


@frozen
class Call:
    """A request with the key of organization `by` for a field of organization `of`."""

    by: int
    read_only: bool
    method: str
    of: int
    reference: int | str | None
    body: dict[str, object]
    conditions: dict[str, str]
    below: str
    """The part of the path below a field."""
    in_batch: bool
    """Whether to send the request as the operation of a batch, if there is one for its method."""


calls = st.builds(
    Call,
    by=st.integers(0, 1),
    read_only=st.booleans(),
    method=st.sampled_from(["GET", "POST", "PATCH", "PUT", "DELETE", "PUT", "PATCH", "DELETE"]),
    of=st.integers(0, 1),
    reference=st.one_of(st.none(), st.sampled_from(KEYS), st.integers(0, 4)),
    body=bodies,
    conditions=st.sampled_from([{}, {}, {"If-Match": "*"}, {"If-None-Match": "*"}]),
    below=st.sampled_from(["", "", "/changes", "/restore"]),
    in_batch=st.booleans(),
)


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def core(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Core]:
    directory: Path = tmp_path_factory.mktemp("any_calls")
    urls = {"memory": "memory:", "sqlite": f"sqlite:{directory / 'fields.db'}"}
    core = open_core(urls[request.param])
    yield core
    core.storage.close()


@settings(max_examples=100)
@given(st.lists(calls, max_size=25))
def test_fields_of_other_origins_and_organizations_do_not_change(core: Core, sequence: list[Call]):
    organizations = [_organization(core, name) for name in ("Acme", "Globex")]
    app = create_app(core)
    clients = {
        (number, access): ApiClient(app, _key(core, organization, access))
        for number, organization in enumerate(organizations)
        for access in Access
    }
    for call in sequence:
        before = [_fields(core, organization) for organization in organizations]

        access = Access.READ_ONLY if call.read_only else Access.READ_WRITE
        response = _send(clients[call.by, access], call, before[call.of])

        after = [_fields(core, organization) for organization in organizations]
        assert response.status_code in {200, 201, 204, 304, 403, 404, 405, 409, 412, 422}
        assert after[1 - call.by] == before[1 - call.by]
        assert _others(after[call.by]) == _others(before[call.by])
        if call.read_only or call.method == "GET" or response.status_code >= 400:
            assert after == before
        assert not _ids(response) & {field.id for field in before[1 - call.by]}


def _organization(core: Core, name: str) -> OrganizationId:
    """Create an organization with a field of each origin."""
    organization = core.administration.create_organization(name).id
    administrator, synced = (
        core.fields.by(Author(c)) for c in (ADMINISTRATOR, sync_channel(IntegrationId(1)))
    )
    text = DataType.TEXT
    core.fields.create_field(organization, FieldDraft(name="Loyalty tier", data_type=text))
    administrator.create_field(organization, FieldDraft(name="Preferred shop", data_type=text))
    synced.create_field(
        organization, FieldDraft(name="First name", data_type=text, esp_field_name="FNAME")
    )
    return organization


def _key(core: Core, organization: OrganizationId, access: Access) -> str:
    return core.administration.issue_key(organization, name="Tests", access=access).plain.reveal()


def _fields(core: Core, organization: OrganizationId) -> tuple[RecipientField, ...]:
    return core.fields.list_fields(organization).fields


def _others(fields: tuple[RecipientField, ...]) -> list[RecipientField]:
    return [field for field in fields if field.origin.source is not Source.API]


def _send(client: ApiClient, call: Call, fields: tuple[RecipientField, ...]) -> Result:
    reference = call.reference
    if isinstance(reference, int):
        reference = fields[reference % len(fields)].id
    if call.in_batch and call.method in OPERATIONS:
        operation = OPERATIONS[call.method]
        document: dict[str, object] = {"operation": operation}
        if operation != "create":
            document["reference"] = reference
        if operation != "delete":
            document["recipient_field"] = call.body
        return client.request("POST", BATCHES, {"operations": [document]})
    path = FIELDS if reference is None else f"{FIELDS}/{reference}{call.below}"
    body = {"recipient_field": call.body} if call.method in {"POST", "PATCH", "PUT"} else None
    return client.request(call.method, path, body, headers=call.conditions)


def _ids(response: Result) -> set[int]:
    """Return the ids of the fields in the response."""
    match response.json if response.content else None:
        case {"recipient_field": dict(field)}:
            return {field["id"]}
        case {"recipient_fields": list(fields)}:
            return {field["id"] for field in fields}
        case {"results": [{"recipient_field": dict(field)}]}:
            return {field["id"]}
        case {"recipient_field_changes": list(records)}:
            return {record["field_id"] for record in records}
        case {"error": {"details": list(details)}}:
            return {detail["existing_id"] for detail in details if "existing_id" in detail}
        case _:
            return set()
