"""Another organization's field answers exactly as one that does not exist."""

from __future__ import annotations

import pytest

from recipient_fields.domain import FieldId, IntegrationId, OrganizationId, sync_channel

from .api import FIELDS, Api, enveloped
from .conftest import CHANNELS, Stand

REPLACEMENT = {"name": "Shop", "data_type": "text"}
BODIES = {"PATCH": enveloped({"name": "Store"}), "PUT": enveloped(REPLACEMENT)}
VERBS = ("GET", "HEAD", "PATCH", "PUT", "DELETE")
MISSING = FieldId(999)


@pytest.fixture(params=CHANNELS)
def theirs(request: pytest.FixtureRequest, stand: Stand, bakery: OrganizationId) -> FieldId:
    """A field of the bakery, which the brewery asks for."""
    return stand.add(bakery, CHANNELS[request.param]).id


@pytest.mark.parametrize("verb", VERBS)
def test_by_id_it_is_like_a_missing_one(api: Api, brewery: Api, theirs: FieldId, verb: str):
    before = api.state()
    body = BODIES.get(verb, "")
    answers = [brewery.send(verb, f"{FIELDS}/{one}", body) for one in (theirs, MISSING)]
    assert answers[0].status == 404
    assert answers[0].told == answers[1].told
    assert api.state() == before


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "PUT"])
def test_by_key_it_is_like_a_missing_one(api: Api, brewery: Api, theirs, verb: str):
    before = api.state()
    body = BODIES.get(verb, "")
    answers = [brewery.send(verb, f"{FIELDS}/{key}", body) for key in ("shop", "missing")]
    assert answers[0].status == 404
    assert answers[0].told == answers[1].told
    assert api.state() == before


@pytest.mark.parametrize("headers", [{"if_match": "*"}, {"if_none_match": "*"}])
@pytest.mark.parametrize("verb", VERBS)
def test_conditions_do_not_tell_them_apart(api: Api, brewery: Api, theirs, verb: str, headers):
    body = BODIES.get(verb, "")
    answers = [brewery.send(verb, f"{FIELDS}/{one}", body, **headers) for one in (theirs, MISSING)]
    assert answers[0].told == answers[1].told


def test_their_version_does_not_tell_them_apart(api: Api, brewery: Api, theirs: FieldId):
    etag = api.get(theirs).etag
    answers = [brewery.get(one, if_none_match=etag) for one in (theirs, MISSING)]
    assert answers[0].told == answers[1].told


def test_put_by_their_key_creates_a_field_of_ones_own(api: Api, brewery: Api, theirs: FieldId):
    before = api.state()
    answer = brewery.put("shop", REPLACEMENT)
    assert answer.status == 201
    assert answer.field["id"] != theirs
    assert api.state() == before


def test_a_key_is_unique_in_its_organization_only(api: Api, brewery: Api, theirs: FieldId):
    mine = brewery.post({**REPLACEMENT, "key": "shop"})
    assert mine.status == 201
    again = brewery.post({**REPLACEMENT, "key": "shop"})
    assert again.error["details"][0]["existing_id"] == mine.field["id"]


def test_lists_hold_ones_own_fields_only(api: Api, brewery: Api, theirs: FieldId):
    brewery.put("beer", {"name": "Beer", "data_type": "text"})
    assert brewery.list().keys == ["beer"]
    assert api.list().keys == ["shop"]


def test_a_list_keeps_its_version_while_others_change_theirs(api: Api, brewery: Api, theirs):
    etag = brewery.list().etag
    api.put("beer", {"name": "Beer", "data_type": "text"})
    assert brewery.list(if_none_match=etag).status == 304


def test_a_field_synced_by_the_same_integration_stays_apart(
    stand: Stand, api: Api, brewery: Api, bakery: OrganizationId
):
    theirs = stand.add(bakery, sync_channel(IntegrationId(7)), "beer")
    assert brewery.get(theirs.id).status == 404
