"""Documents of fields: the API-managed fields of an organization as one JSON-like value."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.application import InvalidDocument
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.batch_documents import parse_batch, render_batch
from recipient_fields.application.fields.fields_as_code import (
    field_document_schema,
    parse_field_document,
    render_field_document,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    Batch,
    CreateField,
    DataType,
    DeleteField,
    FieldDraft,
    FieldId,
    UpdateField,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import SetName
from recipient_fields.testing.strategies import changes, drafts, instants, keys, stored_fields

TIER = {"name": "Tier", "data_type": "text"}


@pytest.fixture(scope="module")
def schema() -> Any:
    """Return a validator with the JSON Schema of documents."""
    return jsonschema_rs.validator_for(field_document_schema())


def violations(document: object) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(InvalidDocument) as caught:
        parse_field_document(document)
    return {violation.path: violation.message for violation in caught.value.violations}


def same(one: FieldDraft, other: FieldDraft, **times: Any) -> bool:
    return one.define(by=API, **times) == other.define(by=API, **times)


def test_a_document_defines_fields_in_its_order():
    tier, size = parse_field_document(
        {
            "fields": {
                "tier": {"name": "Tier", "data_type": "text", "allowed_values": ["gold"]},
                "size": {
                    "name": "Size",
                    "data_type": "number",
                    "insertable": False,
                    "custom_insertion_code": "{{ size }}",
                    "custom_value_expression": "size",
                },
            }
        }
    ).fields
    assert (tier.key, tier.name, tier.data_type) == ("tier", "Tier", DataType.TEXT)
    assert tier.allowed_values is not None
    assert tier.insertable
    assert (size.key, size.insertable) == ("size", False)
    assert (size.custom_insertion_code, size.custom_value_expression) == ("{{ size }}", "size")


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (None, (), "This must be an object."),
        ([], (), "This must be an object."),
        ({}, ("fields",), "Add this member."),
        (
            {"fields": [{"name": "Tier", "data_type": "text"}]},
            ("fields",),
            (
                "This must not be a list. Write each field under its key, such as"
                " `tier: {name: Tier, data_type: text}`."
            ),
        ),
        ({"fields": None}, ("fields",), "This must be an object."),
        ({"fields": {}, "field": {}}, ("field",), "There is no such member."),
        ({"fields": {"tier": None}}, ("fields", "tier"), "This must be an object."),
        (
            {"fields": {"tier": {"name": "Tier"}}},
            ("fields", "tier", "data_type"),
            "Add this member.",
        ),
        (
            {"fields": {"tier": {**TIER, "source": "api"}}},
            ("fields", "tier", "source"),
            "There is no such member.",
        ),
        (
            {"fields": {"tier": {**TIER, "key": "tier"}}},
            ("fields", "tier", "key"),
            "There is no such member.",
        ),
        ({"fields": {"id": TIER}}, ("fields", "id"), "This key is reserved. Choose another key."),
        (
            {"fields": {"tier": {**TIER, "allowed_values": ["a", "a"]}}},
            ("fields", "tier", "allowed_values", 1),
            "Each value may be listed once.",
        ),
    ],
)
def test_a_violation_has_the_path_of_the_invalid_value(document, path, message):
    assert violations(document) == {path: message}


def test_the_violations_of_all_fields_are_reported_at_once():
    document = {"fields": {"Tier": {"name": 5, "data_type": "txt"}, "size": {}, "ok": TIER}}
    assert violations(document).keys() == {
        ("fields", "Tier"),
        ("fields", "Tier", "name"),
        ("fields", "Tier", "data_type"),
        ("fields", "size", "name"),
        ("fields", "size", "data_type"),
    }


def test_an_unknown_member_has_a_suggestion():
    with pytest.raises(InvalidDocument, match="Did you mean data_type"):
        parse_field_document({"fields": {"tier": {**TIER, "datatype": "text"}}})


def test_a_document_has_only_api_managed_fields(service, acme):
    service.create_field(acme, FieldDraft(name="Size", data_type="number"))
    service.create_field(acme, FieldDraft(name="City", data_type="text"))
    service.by(Author(ADMINISTRATOR)).create_field(acme, FieldDraft(name="Shop", data_type="text"))
    document = render_field_document(service.list_fields(acme).fields)
    assert document == {
        "fields": {
            "city": {"name": "City", "data_type": "text"},
            "size": {"name": "Size", "data_type": "number"},
        }
    }
    assert render_json(document).index(b"city") < render_json(document).index(b"size")


@given(fields=st.lists(stored_fields(by=API), unique_by=lambda each: each.key, max_size=4))
def test_a_rendered_document_defines_the_same_fields(schema, fields):
    document = render_field_document(fields)
    assert render_field_document(reversed(fields)) == document
    schema.validate(json.loads(render_json(document)))
    parsed = parse_field_document(document).fields
    by_key = sorted(fields, key=lambda each: each.key)
    for draft, field in zip(parsed, by_key, strict=True):
        defined = draft.define(by=API, at=field.created_at)
        stored = evolve(field, updated_at=field.created_at, version=1)
        assert defined.with_id(field.id, field.organization_id) == stored


@pytest.mark.parametrize(
    "members",
    [
        {"name": "Tier"},
        {"data_type": "text"},
        {**TIER, "name": ""},
        {**TIER, "name": None},
        {**TIER, "data_type": "txt"},
        {**TIER, "source": "api"},
        {**TIER, "insertable": "no"},
        {**TIER, "insertable": None},
        {**TIER, "allowed_values": []},
        {**TIER, "allowed_values": [1]},
        {**TIER, "allowed_values": ["a", "a"]},
        {"name": "On", "data_type": "boolean", "allowed_values": ["true"]},
        {"name": "Size", "data_type": "number", "allowed_values": ["36"]},
        {"name": "Size", "data_type": "number", "allowed_values": [2**53]},
        {**TIER, "custom_insertion_code": ""},
        {**TIER, "custom_value_expression": "x" * 2_001},
    ],
)
def test_the_schema_rejects_what_the_parser_rejects(schema, members):
    document = {"fields": {"tier": members}}
    assert violations(document)
    assert not schema.is_valid(document)


@pytest.mark.parametrize("key", ["Tier", "a__b", "_a", "1a", "id", "sys_a", "a" * 64, ""])
def test_the_schema_rejects_the_keys_that_the_parser_rejects(schema, key):
    document = {"fields": {key: TIER}}
    assert violations(document)
    assert not schema.is_valid(document)


@given(
    batch=st.builds(
        Batch,
        st.lists(
            st.one_of(
                st.builds(CreateField, drafts()),
                st.builds(UpdateField, keys(), changes(DataType.TEXT)),
                st.builds(
                    DeleteField, keys() | st.integers(1, 9).map(FieldId), st.none() | st.just("1-5")
                ),
            ),
            min_size=1,
            max_size=4,
        ).map(tuple),
        st.none() | st.just("1-abc"),
    ),
    at=instants(),
)
def test_a_rendered_batch_is_parsed_as_the_same_batch(batch, at):
    parsed = parse_batch(render_batch(batch))
    assert parsed.expected_version == batch.expected_version
    for one, other in zip(parsed.operations, batch.operations, strict=True):
        if isinstance(one, CreateField):
            assert isinstance(other, CreateField)
            assert same(one.draft, other.draft, at=at)
        else:
            assert render_batch(Batch((one,))) == render_batch(Batch((other,)))


KEYS = ("tier", "a" * 40, "a" * 41, "id", "recipient_1", "recipient", "Tier", "a__b", "1a", "")
VALUES: dict[str, tuple[object, ...]] = {
    "name": ("Tier", "", 5, None),
    "data_type": ("text", "txt", None, 5),
    "insertable": (True, False, None, 0),
    "custom_insertion_code": ("x", "", None, "a" * 2_000, "a" * 2_001, 5),
    "custom_value_expression": ("x", "", None, "a" * 2_000, "a" * 2_001, 5),
    "allowed_values": ([], None, "a", {}, ["a"] * 2, [f"{n}" for n in range(1_001)]),
    "unknown": (1,),
}
ALLOWED_VALUES: dict[str, tuple[object, ...]] = {
    "text": ("a", "", "a" * 255, "a" * 256, 5),
    "number": (5, 1.5, 2**53 - 1, 2**53, -(2**53), "5", True),
    "boolean": (True, "a"),
    "date": ("2026-11-20", "2026-11-31", 5),
    "datetime": ("2026-11-20T09:15:00Z", "2026-11-20", 5),
}
CASES = [
    *({"fields": {key: TIER}} for key in KEYS),
    *(
        {"fields": {"tier": {**TIER, name: value}}}
        for name, values in VALUES.items()
        for value in values
    ),
    *(
        {"fields": {"tier": {"name": "Tier", "data_type": kind, "allowed_values": [value]}}}
        for kind, values in ALLOWED_VALUES.items()
        for value in values
    ),
    *({"fields": {"tier": {**TIER, "data_type": kind}}} for kind in ALLOWED_VALUES),
    {"fields": {"tier": {"name": "Tier"}}},
    {"fields": {"tier": {"data_type": "text"}}},
    {"fields": {"tier": []}},
    {"fields": {}, "more": 1},
    {"fields": []},
    {},
    [],
]


@pytest.mark.parametrize("document", CASES, ids=lambda document: json.dumps(document)[:60])
def test_the_schema_and_the_parser_accept_the_same_documents(document):
    validator = jsonschema_rs.validator_for(field_document_schema(), validate_formats=True)
    try:
        parse_field_document(document)
        accepted = True
    except InvalidDocument:
        accepted = False
    assert validator.is_valid(document) is accepted


def test_editors_show_what_the_schema_describes():
    schema: Any = field_document_schema()
    fields = schema["properties"]["fields"]
    members = fields["additionalProperties"]["properties"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["title"], fields["description"]) == ("Recipient fields", "The fields by key.")
    assert members["insertable"]["default"] is True
    assert all(each["description"].endswith(".") for each in members.values())


MAIN_LIST = {"name": "Main list", "esp": "mailchimp", "names": {"tier": "TIER"}}


def test_a_document_defines_names_at_integrations(schema):
    names = {"city": {"name": "City", "custom": True}, "tier": "TIER"}
    document = {"fields": {}, "integrations": [{**MAIN_LIST, "names": names}]}
    schema.validate(document)
    assert parse_field_document(document).names == {
        ("Main list", Esp("mailchimp")): {
            "city": SetName("City", custom=True),
            "tier": SetName("TIER"),
        }
    }
    assert parse_field_document({"fields": {}}).names == {}


@pytest.mark.parametrize(
    "members",
    [
        {"names": None},
        {"names": ["TIER"]},
        {"names": {"tier": None}},
        {"names": {"tier": {"custom": True}}},
        {"names": {"tier": {"name": "TIER", "standard": True}}},
        {"names": {"tier": {"name": "TIER", "custom": "true"}}},
        {"esp": "mailchump"},
        {"esp": None},
        {"name": 5},
        {"id": 1},
    ],
)
def test_the_schema_rejects_an_integration_that_the_parser_rejects(schema, members):
    document = {"fields": {}, "integrations": [{**MAIN_LIST, **members}]}
    assert violations(document)
    assert not schema.is_valid(document)
