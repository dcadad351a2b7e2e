"""Members that a body repeats: they must equal what is stored, or what a new field will have."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import render_field
from recipient_fields.application.fields.inputs import (
    parse_changes,
    parse_draft,
    parse_new_field,
    parse_replacement,
    render_input,
)
from recipient_fields.domain import (
    API,
    WRITABLE_MEMBERS,
    FieldDraft,
    FieldId,
    FieldName,
    IntegrationId,
    InvalidInput,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.testing.examples import LATER, NOW, a_definition

SYNC = sync_channel(IntegrationId(7))
CITY = a_definition().with_id(FieldId(1), OrganizationId(1))
SYNCED = a_definition(by=SYNC).with_id(FieldId(1), OrganizationId(1))
REPEATED = {
    name: str(each) if name == "key" else each
    for name, each in render_field(SYNCED).items()
    if name not in WRITABLE_MEMBERS
}
OTHER_VALUES: list[object] = [
    *(None, True, 1.0, 7.0, 2**70, [], {}),
    *("1", "7", "", "CITY ", "Text", "2026-11-20T09:15:00Z"),
]
NEW = {"name": "City", "data_type": "text"}


def violations(invalid: pytest.ExceptionInfo[InvalidInput]) -> list[str]:
    return [
        f"{'.'.join(map(str, each.path))}: {each.rule.value}" for each in invalid.value.violations
    ]


def sent_back(field: RecipientField, members: dict[str, Any]) -> RecipientField:
    return field.with_changes(parse_changes(members), by=field_channel(field), at=LATER)


def field_channel(field: RecipientField) -> Any:
    return SYNC if field is SYNCED else API


class TestChanges:
    def test_can_repeat_what_was_read(self):
        assert sent_back(SYNCED, REPEATED) is SYNCED

    @pytest.mark.parametrize("value", OTHER_VALUES, ids=repr)
    @pytest.mark.parametrize("member", REPEATED)
    def test_can_not_repeat_another_value(self, member, value):
        rule = "immutable" if member in {"key", "data_type"} else "read_only"
        with pytest.raises(InvalidInput) as invalid:
            sent_back(SYNCED, {member: value})
        assert violations(invalid) == [f"{member}: {rule}"]

    def test_report_all_differences_with_the_invalid_values(self):
        with pytest.raises(InvalidInput) as invalid:
            sent_back(CITY, {"id": 2, "key": "x", "data_type": 5, "allowed_values": [5]})
        assert violations(invalid) == [
            *("id: read_only", "key: immutable", "data_type: immutable", "allowed_values.0: type")
        ]

    def test_of_an_outdated_copy_are_rejected(self):
        updated_at = render_field(CITY)["updated_at"]
        renamed = sent_back(CITY, {"name": "Town", "updated_at": updated_at})
        with pytest.raises(InvalidInput) as invalid:
            sent_back(renamed, {"name": "Village", "updated_at": updated_at})
        assert violations(invalid) == ["updated_at: read_only"]

    @pytest.mark.parametrize(("member", "title"), [("key", "key"), ("data_type", "data type")])
    def test_name_the_member_that_can_not_be_changed(self, member, title):
        with pytest.raises(InvalidInput, match=f"The {title} of a field can't be changed"):
            sent_back(CITY, {member: "other"})

    def test_are_rendered_as_they_were_sent(self):
        members = {"name": "Town", "key": "city", "data_type": 5, "updated_at": None}
        assert render_input(parse_changes(members)) == {"recipient_field": members}


class TestAReplacement:
    @pytest.mark.parametrize("data_type", ["number", "Text", "", None, 5, True, [], {}], ids=repr)
    def test_can_not_change_the_data_type(self, data_type):
        changes = parse_replacement({**NEW, "data_type": data_type}, None)
        with pytest.raises(InvalidInput) as invalid:
            CITY.with_changes(changes, by=API, at=LATER)
        assert violations(invalid) == ["data_type: immutable"]

    def test_of_a_free_key_can_repeat_what_the_new_field_will_have(self):
        members = {**NEW, "key": "city", "source": "api", "integration_id": None}
        assert parse_replacement(members, "city").draft("city", by=API).key == "city"

    def test_of_a_free_key_reports_all_violations(self):
        members = {**NEW, "id": 1, "source": "manual", "allowed_values": ["red", 5]}
        with pytest.raises(InvalidInput) as invalid:
            parse_replacement(members, "city").draft("city", by=API)
        assert violations(invalid) == [
            *("id: read_only", "source: read_only", "allowed_values.1: type")
        ]

    @pytest.mark.parametrize(
        ("data_type", "rule"), [("string", "unknown_value"), (None, "type"), (True, "type")]
    )
    def test_of_a_free_key_requires_a_known_data_type(self, data_type, rule):
        members = {**NEW, "data_type": data_type, "allowed_values": ["red"]}
        with pytest.raises(InvalidInput) as invalid:
            parse_replacement(members, "city").draft("city", by=API)
        assert violations(invalid) == [f"data_type: {rule}"]

    def test_sets_omitted_members_to_their_defaults(self):
        full = evolve(CITY, name=FieldName("Old"), insertable=False)
        changed = full.with_changes(parse_replacement(NEW, None), by=API, at=LATER)
        assert evolve(changed, version=1, updated_at=NOW) == CITY


class TestANewField:
    def test_can_repeat_the_origin_that_the_api_sets(self):
        origin = {"source": "api", "integration_id": None, "esp_field_name": None}
        assert parse_new_field({**NEW, **origin}) == parse_new_field(NEW)

    @pytest.mark.parametrize(
        ("member", "value"),
        [
            *(("source", "manual"), ("source", "API"), ("source", None), ("integration_id", 7)),
            *(("esp_field_name", "FNAME"), ("esp_field_name", ""), ("id", 1), ("id", None)),
            *(("created_at", "2026-11-20T12:00:00.000Z"), ("updated_at", None)),
        ],
    )
    def test_can_not_repeat_other_values(self, member, value):
        with pytest.raises(InvalidInput) as invalid:
            parse_new_field({**NEW, member: value})
        assert violations(invalid) == [f"{member}: read_only"]

    def test_of_another_document_can_repeat_nothing(self):
        with pytest.raises(InvalidInput) as invalid:
            parse_draft({**NEW, "source": "api"})
        assert violations(invalid) == ["source: read_only"]

    def test_reports_all_violations_without_an_envelope(self):
        members = {"name": "日本", "data_type": "text", "allowed_values": ["a", "a"], "nme": 1}
        with pytest.raises(InvalidInput) as invalid:
            parse_draft(members)
        assert violations(invalid) == [
            *("allowed_values.1: duplicate_item", "key: required", "nme: unknown_field")
        ]


def test_a_replacement_of_the_library_is_rendered_with_the_data_type():
    members: dict[str, Any] = {"name": "Town", "data_type": "text", "allowed_values": ["a"]}
    texts = {"custom_insertion_code": None, "custom_value_expression": None}
    changes = FieldDraft(**members).changes()
    defaults = {"insertable": True, **texts}
    assert render_input(changes) == {"recipient_field": {**members, **defaults}}
