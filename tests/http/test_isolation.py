"""A field of another organization gets the same response as a missing field."""

from __future__ import annotations

import pytest

from recipient_fields.domain import FieldId, OrganizationId

from .api import FIELDS, Api, enveloped
from .conftest import CHANNELS, Harness

REPLACEMENT = {"name": "Shop", "data_type": "text"}
BODIES = {"PATCH": enveloped({"name": "Store"}), "PUT": enveloped(REPLACEMENT)}
VERBS = ("GET", "HEAD", "PATCH", "PUT", "DELETE")
MISSING = FieldId(999)


@pytest.fixture(params=CHANNELS)
def other_field(
    request: pytest.FixtureRequest, harness: Harness, bakery: OrganizationId
) -> FieldId:
    """Create a field of the bakery, which the brewery requests."""
    return harness.add_field(bakery, CHANNELS[request.param]).id


@pytest.mark.parametrize("verb", VERBS)
def test_by_id_the_response_is_that_of_a_missing_field(
    api: Api, brewery: Api, other_field: FieldId, verb: str
):
    before = api.state()
    body = BODIES.get(verb, "")
    responses = [brewery.send(verb, f"{FIELDS}/{one}", body) for one in (other_field, MISSING)]
    assert responses[0].status == 404
    assert responses[0].without_request_id == responses[1].without_request_id
    assert api.state() == before


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "PUT"])
def test_by_key_the_response_is_that_of_a_missing_field(
    api: Api, brewery: Api, other_field, verb: str
):
    before = api.state()
    body = BODIES.get(verb, "")
    responses = [brewery.send(verb, f"{FIELDS}/{key}", body) for key in ("shop", "missing")]
    assert responses[0].status == 404
    assert responses[0].without_request_id == responses[1].without_request_id
    assert api.state() == before


@pytest.mark.parametrize("headers", [{"if_match": "*"}, {"if_none_match": "*"}])
@pytest.mark.parametrize("verb", VERBS)
def test_preconditions_do_not_reveal_the_field(
    api: Api, brewery: Api, other_field, verb: str, headers
):
    body = BODIES.get(verb, "")
    responses = [
        brewery.send(verb, f"{FIELDS}/{one}", body, **headers) for one in (other_field, MISSING)
    ]
    assert responses[0].without_request_id == responses[1].without_request_id


def test_the_entity_tag_of_the_field_does_not_reveal_it(
    api: Api, brewery: Api, other_field: FieldId
):
    etag = api.get(other_field).etag
    responses = [brewery.get(one, if_none_match=etag) for one in (other_field, MISSING)]
    assert responses[0].without_request_id == responses[1].without_request_id


def test_put_by_its_key_creates_a_field_of_the_caller(api: Api, brewery: Api, other_field: FieldId):
    before = api.state()
    response = brewery.put("shop", REPLACEMENT)
    assert response.status == 201
    assert response.field["id"] != other_field
    assert api.state() == before


def test_a_list_has_only_the_fields_of_the_organization(
    api: Api, brewery: Api, other_field: FieldId
):
    brewery.put("beer", {"name": "Beer", "data_type": "text"})
    assert brewery.list().keys == ["beer"]
    assert api.list().keys == ["shop"]


def test_changes_of_another_organization_do_not_change_the_entity_tag_of_a_list(
    api: Api, brewery: Api, other_field
):
    etag = brewery.list().etag
    api.put("beer", {"name": "Beer", "data_type": "text"})
    assert brewery.list(if_none_match=etag).status == 304
