"""Items of a list that are not as documented: the source rejects them, and reports the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

from recipient_fields.application import EspFieldSource
from recipient_fields.domain.integrations import (
    EspField,
    EspRefused,
    EspUnavailable,
    FieldCaveat,
    RefusedField,
    ReportedField,
)

from ...support.http_server import StubResponse, always
from .accounts import (
    ACTIVECAMPAIGN,
    BRAZE,
    BREVO,
    HUBSPOT,
    ITERABLE,
    KLAVIYO,
    MAILCHIMP,
    SALESFORCE,
    SENDGRID,
    STANDARD,
    Account,
    Serve,
    field,
    refusal,
    soap,
    synced,
)

Path = tuple[str | int, ...]

NO_TYPE = "The ESP does not state its type."
WITHOUT_VALUES = "It is synced without allowed values."
NO_CHOICES = "Its choices are left out, because the ESP does not list them as documented."
JSON_VALUES: Sequence[object] = (None, True, 5, 1.5, "x", [], ["x"], {}, {"x": 1})
NO_TEXTS: Sequence[object] = (None, True, 5, ["gold"], {})
NO_IDS: Sequence[object] = (None, True, 7.5, ["7"], {})
NO_OBJECTS: Sequence[object] = (None, True, 5, "x", [])


@frozen(kw_only=True)
class Listed:
    """An item with all members that a source reads, and the document that lists items."""

    account: Account
    name: str = "name"
    """The member that contains the name."""
    item: Mapping[str, Any]
    document: Callable[[list[Any]], object]
    nullable: Sequence[Path] = ()
    """The members that can be null or missing."""
    details: Sequence[str] = ()
    """The members without which a field can be inserted."""

    def report(self, item: object, serve: Serve) -> list[ReportedField]:
        """Return the fields that are reported for this item and the item of this list."""
        return fields_of(self.account, self.document([item, self.item]), serve)

    @property
    def other_name(self) -> str:
        """Another name that the ESP permits."""
        return f"{self.item[self.name]}2"

    def requires(self, path: Path) -> bool:
        """Return whether a field needs what the item has at this path."""
        return path[0] not in self.details and path not in self.nullable

    def members(self) -> Iterator[tuple[Path, object]]:
        """Yield the path and the value of each member at each level, except the name."""
        return ((path, value) for path, value in walk(self.item) if path != (self.name,))


def walk(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, member in value.items():
            yield from walk(member, (*path, name))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*path, index))


def damaged(listed: Listed, path: Path, value: object) -> dict[str, Any]:
    """Return a copy of the item with another name and this value at the path."""
    copy: Any = {**json.loads(json.dumps(listed.item)), listed.name: listed.other_name}
    *parents, last = path
    inner = copy
    for step in parents:
        inner = inner[step]
    inner[last] = value
    return copy


def fields_of(account: Account, document: object, serve: Serve) -> list[ReportedField]:
    """Return the fields that are reported for this response."""
    return list(account.source(serve(always(StubResponse.json(document))).url).fields())


LISTS = (
    Listed(
        account=MAILCHIMP,
        name="tag",
        item={"tag": "A", "name": "A", "type": "radio", "options": {"choices": ["gold"]}},
        document=lambda items: {"merge_fields": items, "total_items": len(items)},
        details=["name", "options"],
    ),
    Listed(
        account=ACTIVECAMPAIGN,
        name="perstag",
        item={"perstag": "A", "title": "A", "type": "radio", "options": ["8"]},
        document=lambda items: {
            "fields": items,
            "fieldOptions": [{"id": "8", "value": "gold"}],
            "meta": {"total": str(len(items))},
        },
        nullable=[("type",)],
        details=["title", "options"],
    ),
    Listed(
        account=BRAZE,
        item={"name": "A", "data_type": "String", "status": "Active"},
        document=lambda items: {"attributes": items},
        nullable=[("status",)],
    ),
    Listed(
        account=HUBSPOT,
        item={
            "name": "a",
            "label": "A",
            "type": "enumeration",
            "fieldType": "radio",
            "options": [{"value": "gold"}],
            "archived": False,
            "hidden": False,
        },
        document=lambda items: {"results": items},
        nullable=[("archived",), ("hidden",)],
        details=["label", "options"],
    ),
    Listed(
        account=SENDGRID,
        item={"name": "A", "field_type": "Text"},
        document=lambda items: {"reserved_fields": items},
    ),
    Listed(
        account=SENDGRID,
        item={"name": "A", "field_type": "Text"},
        document=lambda items: {"custom_fields": items, "reserved_fields": []},
    ),
    Listed(
        account=BREVO,
        item={"name": "A", "category": "normal", "type": "text"},
        document=lambda items: {"attributes": items},
    ),
    Listed(
        account=BREVO,
        item={"name": "A", "category": "category", "enumeration": [{"valueStr": "1"}]},
        document=lambda items: {"attributes": items},
        details=["enumeration"],
    ),
)
MEMBERS = [(listed, path, value) for listed in LISTS for path, value in listed.members()]


def identify(value: object) -> str | None:
    """Return the id of a parameter in the name of a test."""
    if isinstance(value, Listed):
        return value.account.esp
    return ".".join(map(str, value)) if isinstance(value, tuple) else json.dumps(value)


@pytest.mark.parametrize("listed", LISTS, ids=identify)
def test_the_item_of_each_list_is_reported(listed, serve):
    (reported,) = fields_of(listed.account, listed.document([listed.item]), serve)
    assert isinstance(reported, EspField)


@pytest.mark.parametrize(
    ("listed", "path", "wrong"),
    [
        (listed, path, wrong)
        for listed, path, value in MEMBERS
        for wrong in JSON_VALUES
        if wrong is not None and type(wrong) is not type(value)
    ],
    ids=identify,
)
def test_a_member_of_another_type_rejects_only_its_field_unless_it_is_a_detail(
    listed, path, wrong, serve
):
    reported = listed.report(damaged(listed, path, wrong), serve)
    plan = synced(listed.account.esp, reported)
    created = [field.origin.esp_field_name for field in plan.created]
    other = listed.item[listed.name]
    if path[0] in listed.details:
        assert (plan.refused, created) == ((), sorted([listed.other_name, other]))
        assert {each.name for each in plan.caveats} == {listed.other_name}
    else:
        where = ".".join(map(str, path))
        message = f"The ESP does not describe it as documented: {where}: This must be "
        assert [each.name for each in plan.refused] == [listed.other_name]
        assert plan.refused[0].reason.startswith(message)
        assert created == [other]


@pytest.mark.parametrize(
    ("listed", "path"), [(listed, path) for listed, path, _ in MEMBERS], ids=identify
)
def test_a_member_that_is_null_rejects_only_its_field_unless_it_is_optional(listed, path, serve):
    first, other = listed.report(damaged(listed, path, None), serve)
    assert isinstance(first, RefusedField if listed.requires(path) else EspField)
    assert isinstance(other, EspField)


@pytest.mark.parametrize(
    ("listed", "member"),
    [(listed, name) for listed in LISTS for name in listed.item if name != listed.name],
    ids=identify,
)
def test_a_missing_member_rejects_only_its_field_unless_it_is_optional(listed, member, serve):
    item = damaged(listed, (member,), None)
    del item[member]
    first, other = listed.report(item, serve)
    assert isinstance(first, RefusedField if listed.requires((member,)) else EspField)
    assert isinstance(other, EspField)


@pytest.mark.parametrize("listed", LISTS, ids=identify)
@pytest.mark.parametrize("name", [None, 5, True, [], {}])
def test_an_item_without_a_name_raises_esp_refused(listed, name, serve):
    with pytest.raises(EspRefused, match=f"not as documented: a field has no {listed.name}"):
        listed.report({**listed.item, listed.name: name}, serve)


@pytest.mark.parametrize("listed", LISTS, ids=identify)
@pytest.mark.parametrize("item", [None, 5, "A", []])
def test_an_item_that_is_not_an_object_raises_esp_refused(listed, item, serve):
    with pytest.raises(EspRefused, match=r"not as documented: \w+\.0: This must be an object"):
        listed.report(item, serve)


@pytest.mark.parametrize("listed", LISTS[:2], ids=identify)
@pytest.mark.parametrize("wrong", JSON_VALUES)
def test_an_id_can_be_of_any_type(listed, wrong, serve):
    item = {**listed.item, listed.name: "Z", "id": wrong, "merge_id": wrong}
    first, other = listed.report(item, serve)
    assert isinstance(first, EspField)
    assert isinstance(other, EspField)


@pytest.mark.parametrize("listed", LISTS[:3], ids=identify)
def test_a_field_that_is_listed_twice_raises_esp_unavailable(listed, serve):
    item = {**listed.item, "type": 5, "data_type": 5}
    with pytest.raises(EspUnavailable, match="listed a field twice"):
        fields_of(listed.account, listed.document([item, item]), serve)


BREVO_TEXT = {"name": "B", "category": "normal", "type": "text"}


def require_caveat(account: Account, document: object, caveat: FieldCaveat, serve: Serve) -> None:
    """Check that two fields are created without allowed values, one of them with this caveat."""
    plan = synced(account.esp, fields_of(account, document, serve))
    assert [each.allowed_values for each in plan.created] == [None, None]
    assert plan.caveats == (caveat,)


class TestReasons:
    def test_the_reason_contains_the_path_of_the_member(self, serve):
        reason = "The ESP does not describe it as documented: category: It is missing."
        reported = fields_of(BREVO, {"attributes": [{"name": "A"}]}, serve)
        assert reported == [RefusedField("A", reason)]

    @pytest.mark.parametrize(
        "options",
        [
            *([], None, [{"id": "7"}], [{"value": "gold"}], [None], [5], ["x"], [[]]),
            *([{"id": "7", "value": value}] for value in NO_TEXTS),
            *([{"id": value, "value": "gold"}] for value in NO_IDS),
        ],
    )
    def test_activecampaign_reports_a_field_whose_option_is_not_listed(self, options, serve):
        described = {"title": "A", "type": "radio", "options": ["7"]}
        document = {
            "fields": [
                {"id": "1", "perstag": "A", **described},
                {"id": "2", "perstag": "B", "title": "B", "type": "text"},
            ],
            "fieldOptions": options,
            "meta": {"total": "2"},
        }
        message = f"{WITHOUT_VALUES} Choice 1: It is not a text."
        require_caveat(ACTIVECAMPAIGN, document, FieldCaveat("A", message), serve)

    @pytest.mark.parametrize("data_type", [{}, {"data_type": None}])
    def test_braze_rejects_an_attribute_without_a_type(self, data_type, serve):
        document = {"attributes": [{"name": "a", **data_type}, {"name": "b", "data_type": "Date"}]}
        expected = [RefusedField("a", NO_TYPE), field("b", "datetime")]
        assert fields_of(BRAZE, document, serve) == expected

    def test_brevo_rejects_an_attribute_without_a_type(self, serve):
        document = {"attributes": [{"name": "A", "category": "normal"}, BREVO_TEXT]}
        assert fields_of(BREVO, document, serve) == [RefusedField("A", NO_TYPE), field("B")]

    @pytest.mark.parametrize(
        "options", [{}, {"enumeration": None}, {"enumeration": [{"value": 1}]}]
    )
    def test_brevo_reports_a_category_without_original_values(self, options, serve):
        attributes = [{"name": "A", "category": "category", **options}, BREVO_TEXT]
        no_text = f"{WITHOUT_VALUES} Choice 1: It is not a text."
        message = no_text if options.get("enumeration") else NO_CHOICES
        require_caveat(BREVO, {"attributes": attributes}, FieldCaveat("A", message), serve)

    @pytest.mark.parametrize("described", [{"options": []}, {"fieldType": None, "options": []}])
    def test_hubspot_rejects_an_enumeration_without_a_field_type(self, described, serve):
        enumeration = {"name": "a", "label": "A", "type": "enumeration", **described}
        other = {"name": "b", "label": "B", "type": "string"}
        expected = [RefusedField("a", NO_TYPE), field("b", label="B")]
        assert fields_of(HUBSPOT, {"results": [enumeration, other]}, serve) == expected

    def test_hubspot_reports_an_enumeration_without_options(self, serve):
        enumeration = {"name": "a", "label": "A", "type": "enumeration", "fieldType": "radio"}
        other = {"name": "b", "label": "B", "type": "string"}
        document = {"results": [enumeration, other]}
        require_caveat(HUBSPOT, document, FieldCaveat("a", NO_CHOICES), serve)

    @pytest.mark.parametrize("type_name", [None, True, 5, ["string"], {"type": "string"}])
    def test_iterable_rejects_a_field_whose_type_is_not_a_string(self, type_name, serve):
        document = {"fields": {"a": type_name, "b": "string"}}
        assert fields_of(ITERABLE, document, serve) == [RefusedField("a", NO_TYPE), field("b")]


class TestKlaviyo:
    """Klaviyo lists profiles. The source reads those that are as documented."""

    @pytest.mark.parametrize(
        "profile",
        [
            {},
            *({"attributes": value} for value in NO_OBJECTS),
            *({"attributes": {"properties": value}} for value in NO_OBJECTS if value is not None),
        ],
    )
    def test_an_unexpected_profile_does_not_affect_the_others(self, profile, serve):
        data = [profile, {"attributes": {"properties": {"a": 1}}}]
        assert fields_of(KLAVIYO, {"data": data}, serve) == [*STANDARD, field("a", "number")]
        with pytest.raises(EspRefused, match="not as documented: no profile has attributes"):
            fields_of(KLAVIYO, {"data": [profile]}, serve)


class TestSalesforce:
    @pytest.fixture
    def source(self, missing: bytes, serve: Serve) -> EspFieldSource:
        """Return the source of two fields, of which A has no element `missing`."""
        response = soap("OK", [("A", "Removed"), ("B", "Text")])
        listing = evolve(response, body=response.body.replace(missing, b""))
        return SALESFORCE.source(serve(SALESFORCE.listing_with(always(listing))).url)

    @pytest.mark.parametrize("missing", [b"<FieldType>Removed</FieldType>"])
    def test_a_field_without_a_type_is_rejected(self, source):
        assert list(source.fields()) == [RefusedField("A", NO_TYPE), field("B")]

    @pytest.mark.parametrize("missing", [b"<Name>A</Name>"])
    def test_a_field_without_a_name_raises_esp_refused(self, source):
        assert "not as documented: Name is missing" in refusal(source)
