"""A field of another organization gets the same response as a missing field."""

from __future__ import annotations

import pytest

from recipient_fields.domain import FieldId, OrganizationId

from .api import FIELDS, Api, enveloped
from .conftest import CHANNELS, Harness

REPLACEMENT = {"name": "Shop", "data_type": "text"}
BODIES = {"PATCH": enveloped({"name": "Store"}), "PUT": enveloped(REPLACEMENT)}
REQUESTS = (
    *((verb, "") for verb in ("GET", "HEAD", "PATCH", "PUT", "DELETE")),
    *(("GET", "/changes"), ("GET", "/codes"), ("POST", "/restore")),
)
"""The method of each request for a field, and the end of its path."""
MISSING = FieldId(999)


@pytest.fixture(params=CHANNELS)
def other_field(
    request: pytest.FixtureRequest, harness: Harness, bakery: OrganizationId
) -> FieldId:
    """Create a field of the bakery, which the brewery requests."""
    return harness.add_field(bakery, CHANNELS[request.param]).id


def responses(client: Api, reference: object, **headers: str) -> dict[tuple[str, str], object]:
    """Send each request for a field, and return the responses.

    PUT by the key of a missing field creates it.
    """
    return {
        (verb, end): client.send(
            verb, f"{FIELDS}/{reference}{end}", BODIES.get(verb, ""), **headers
        ).without_request_id
        for verb, end in REQUESTS
        if verb != "PUT" or isinstance(reference, int)
    }


@pytest.mark.parametrize(
    "headers",
    [{}, {"if_match": "*"}, {"if_none_match": "*"}],
    ids=["without a precondition", "if it exists", "if it does not exist"],
)
def test_each_response_is_that_of_a_missing_field(api, brewery, other_field, headers):
    before = api.state()
    missing = responses(brewery, MISSING, **headers)
    assert responses(brewery, other_field, **headers) == missing
    assert responses(brewery, "shop", **headers) == responses(brewery, "missing", **headers)
    assert brewery.get(other_field).status == brewery.get("shop").status == 404
    assert api.state() == before


def test_the_entity_tag_of_the_field_does_not_reveal_it(api, brewery, other_field):
    etag = api.get(other_field).etag
    known, missing = (brewery.get(one, if_none_match=etag) for one in (other_field, MISSING))
    assert known.without_request_id == missing.without_request_id


def test_put_by_its_key_creates_a_field_of_the_caller(api, brewery, other_field):
    before = api.state()
    response = brewery.put("shop", REPLACEMENT)
    assert response.status == 201
    assert response.field["id"] != other_field
    assert api.state() == before


def test_a_list_has_only_the_fields_of_the_organization(api, brewery, other_field):
    brewery.put("beer", {"name": "Beer", "data_type": "text"})
    assert brewery.list().keys == ["beer"]
    assert api.list().keys == ["shop"]


def test_changes_of_another_organization_do_not_change_the_entity_tag_of_a_list(
    api, brewery, other_field
):
    etag = brewery.list().etag
    api.put("beer", {"name": "Beer", "data_type": "text"})
    assert brewery.list(if_none_match=etag).status == 304
