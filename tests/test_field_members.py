"""The descriptions of the members of a field, and what must agree with them."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

import pytest
from attrs import fields_dict

from recipient_fields.adapters.row_mapping import (
    FIELD_COLUMNS,
    field_values,
    plain_values,
    stored_field,
)
from recipient_fields.application import FieldDocument
from recipient_fields.application.documents.value_schemas import REPLACEMENT, schema_generator
from recipient_fields.application.fields.documents import render_field
from recipient_fields.application.fields.fields_as_code import field_document_schema
from recipient_fields.domain import (
    API,
    FIELD_MEMBERS,
    IMMUTABLE_MEMBERS,
    ORIGIN_MEMBERS,
    READ_ONLY_MEMBERS,
    WRITABLE_MEMBERS,
    AllowedValues,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldId,
    FieldMember,
    OrganizationId,
    Origin,
    RecipientField,
    Unchanged,
    changed_members,
    member_reader,
)
from recipient_fields.entrypoints.console.fields.forms import LABELS

NAMES = tuple(each.name for each in FIELD_MEMBERS)
FIELD = (
    FieldDraft(name="Tier", data_type="number", custom_insertion_code="a")
    .define(by=API, at=datetime(2026, 11, 20, tzinfo=UTC))
    .with_id(FieldId(1), OrganizationId(1))
)


def test_the_names_are_split_by_who_sets_the_members() -> None:
    assert {*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS, *READ_ONLY_MEMBERS} == {*NAMES}


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (FieldDraft, {*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS, "esp_field_name"}),
        (FieldChanges, {*WRITABLE_MEMBERS, "repeated"}),
        (FieldDefinition, {*NAMES, "origin"} - {*ORIGIN_MEMBERS, "id", "updated_at"}),
        (RecipientField, {*NAMES, "origin", "organization_id", "version"} - {*ORIGIN_MEMBERS}),
        (Origin, {*ORIGIN_MEMBERS}),
        (FieldDocument, {*NAMES}),
    ],
)
def test_a_class_has_the_described_members(kind: type, members: set[str]) -> None:
    assert fields_dict(kind).keys() == members


@pytest.mark.parametrize("member", FIELD_MEMBERS, ids=lambda each: each.name)
def test_the_types_of_a_stored_field_are_as_described(member: FieldMember) -> None:
    kind = get_type_hints(Origin if member.name in ORIGIN_MEMBERS else RecipientField)[member.name]

    assert kind == (member.kind | None if member.nullable else member.kind)


@pytest.mark.parametrize("kind", [FieldDraft, FieldChanges])
def test_the_types_and_defaults_of_requests_are_as_described(kind: Any) -> None:
    hints, attributes = get_type_hints(kind), fields_dict(kind)
    for member in FIELD_MEMBERS:
        if member.name in WRITABLE_MEMBERS and member.kind is not AllowedValues:
            sent = {*(get_args(hints[member.name]) or [hints[member.name]])} - {Unchanged}
            assert sent == {member.kind, *([type(None)] if member.nullable else [])}
            if kind is not FieldChanges and (member.nullable or member.default is not None):
                assert attributes[member.name].default == member.default


def test_explicit_conversions_have_the_described_members() -> None:
    field = FIELD

    assert render_field(field) == member_reader(FIELD_MEMBERS)(field)
    assert [*render_field(field)] == [*NAMES]
    assert tuple(field_values(field)) == FIELD_COLUMNS
    assert len(inspect.signature(stored_field).parameters) == len(FIELD_COLUMNS)
    assert [*plain_values(field)] == [*FIELD_COLUMNS[2:-4]]


def test_all_members_but_the_id_and_the_times_are_compared() -> None:
    compared = [name for name in NAMES if name not in {"id", "created_at", "updated_at"}]
    set_members = [name for name, value in render_field(FIELD).items() if value is not None]

    changes = changed_members(None, FIELD)

    assert [each.member for each in changes] == [n for n in compared if n in set_members]


def test_each_entrypoint_has_a_label_or_a_sentence_for_each_member() -> None:
    settable = {*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS}
    document: Any = field_document_schema()
    definition = document["properties"]["fields"]["additionalProperties"]["properties"]

    assert {*LABELS} == settable
    assert {*definition} == settable - {"key"}
    members = {
        kind: {*schema_generator().schema(kind)["properties"]}
        for kind in (FieldDocument, FieldDraft, FieldChanges, REPLACEMENT)
    }
    assert members == {
        FieldDocument: {*NAMES},
        FieldDraft: settable | {*ORIGIN_MEMBERS},
        FieldChanges: {*NAMES},
        REPLACEMENT: {*NAMES},
    }
