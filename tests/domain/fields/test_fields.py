"""Recipient fields: creation, changes, replacement, sync, and catalogs."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    ANY_VERSION,
    API,
    MILLISECOND,
    AllowedValues,
    Catalog,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    FieldNotFound,
    IntegrationId,
    OperationForbidden,
    OrganizationId,
    Precondition,
    VersionConflict,
    format_instant,
    from_epoch_milliseconds,
    sync_channel,
)

SYNC = sync_channel(IntegrationId(7))
CHANNELS = [API, ADMINISTRATOR, SYNC]
STALE = Precondition(match=frozenset({"1-0-0"}))
COLORS = ["red", "blue"]
NUMBER, TEXT_VALUES = {"data_type": "number"}, AllowedValues(DataType.TEXT, ["1"])


def field_changes(members: dict[str, Any]) -> FieldChanges:
    return FieldChanges(**members)


LINES = st.text("abc\u00e9 ", min_size=1, max_size=9).filter(str.strip)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "name": LINES,
        "allowed_values": st.none() | st.lists(LINES.map(str.strip), min_size=1, unique=True),
        "insertable": st.booleans(),
        "custom_insertion_code": st.none() | LINES,
        "custom_value_expression": st.none() | LINES,
    },
).map(field_changes)
CLOCKS = st.integers(0, 4 * 10**12).map(from_epoch_milliseconds)


class TestADraft:
    def test_requires_a_name_and_a_data_type(self):
        draft = FieldDraft(name=" First name ", data_type=DataType.TEXT)
        assert (draft.name, draft.key, draft.insertable) == ("First name", "first_name", True)
        assert draft.allowed_values is None
        assert draft.custom_insertion_code is None
        assert draft.custom_value_expression is None

    def test_can_have_a_key(self):
        assert FieldDraft(name="日本", data_type=DataType.TEXT, key="japan").key == "japan"

    @pytest.mark.parametrize(
        ("members", "violation"),
        [
            ({"name": " "}, "name: blank"),
            ({"name": "日本"}, "key: required"),
            ({"name": "Type"}, "key: reserved"),
            ({"key": "First"}, "key: format"),
            ({"data_type": "colour"}, "data_type: unknown_value"),
            ({"data_type": 5}, "data_type: type"),
            ({"insertable": "yes"}, "insertable: type"),
            ({"insertable": 1}, "insertable: type"),
            ({"custom_insertion_code": ""}, "custom_insertion_code: blank"),
            ({"custom_value_expression": "e" * 2_001}, "custom_value_expression: too_long"),
            ({**NUMBER, "allowed_values": [1, "large"]}, "allowed_values.1: type"),
            ({**NUMBER, "allowed_values": "12"}, "allowed_values: type"),
            ({**NUMBER, "allowed_values": TEXT_VALUES}, "allowed_values: type"),
        ],
    )
    def test_reports_the_invalid_member(self, members, violation, raises_violations):
        with raises_violations(violation):
            FieldDraft(**{"name": "First name", "data_type": DataType.TEXT, **members})

    @pytest.mark.parametrize("channel", CHANNELS)
    def test_becomes_a_field_of_the_channel_s_origin(self, channel, make_field):
        origin = make_field(channel).origin
        assert (origin.source, origin.integration_id) == (channel.source, channel.integration_id)

    def test_of_a_sync_has_an_esp_field_name(self, make_field):
        assert make_field(SYNC, esp_field_name="FNAME").origin.esp_field_name == "FNAME"

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
    def test_of_another_channel_has_no_esp_field_name(self, channel, make_field, raises_violations):
        with raises_violations("esp_field_name: not_applicable"):
            make_field(channel, esp_field_name="FNAME")

    def test_of_a_sync_without_an_esp_field_name_is_rejected(self, make_field, raises_violations):
        with raises_violations("esp_field_name: required"):
            make_field(SYNC, esp_field_name=None)

    def test_converts_plain_values_to_value_objects(self, noon):
        draft = FieldDraft(name="Size", data_type="number", allowed_values=(1.0, 2))
        assert draft.data_type is DataType.NUMBER
        assert draft.allowed_values == AllowedValues(DataType.NUMBER, [1, 2])
        assert draft.define(by=API, at=noon).allowed_values is draft.allowed_values

    def test_allows_only_values_of_its_data_type(self, make_field, raises_violations):
        numbers = AllowedValues(DataType.NUMBER, [1, 2])
        with raises_violations("allowed_values: type"):
            make_field(data_type=DataType.TEXT, allowed_values=numbers)


class TestANewField:
    def test_has_its_organization_and_the_assigned_id(self, noon):
        definition = FieldDraft(name="Size", data_type=DataType.NUMBER).define(by=API, at=noon)
        field = definition.with_id(FieldId(5), OrganizationId(3))
        assert (field.id, field.organization_id) == (5, 3)

    def test_has_version_1(self, make_field, noon):
        field = make_field()
        assert (field.version, field.created_at, field.updated_at) == (1, noon, noon)

    def test_has_times_in_whole_milliseconds_for_any_clock(self, noon):
        draft = FieldDraft(name="Size", data_type=DataType.NUMBER)
        definition = draft.define(by=API, at=noon + timedelta(microseconds=1_999))
        assert definition.created_at == noon + MILLISECOND

    def test_can_not_be_created_at_a_time_without_a_time_zone(self, noon):
        draft = FieldDraft(name="Size", data_type=DataType.NUMBER)
        with pytest.raises(ValueError, match="time zone"):
            draft.define(by=API, at=noon.replace(tzinfo=None))

    def test_can_not_be_edited_in_place(self, make_field):
        with pytest.raises(FrozenInstanceError):
            make_field().name = FieldName("Other")


class TestAChange:
    @pytest.mark.parametrize("input_type", [FieldChanges, partial(FieldDraft, data_type="text")])
    @pytest.mark.parametrize("insertable", ["no", 0, None])
    def test_requires_a_boolean_for_insertable(self, input_type, insertable, raises_violations):
        with raises_violations("insertable: type") as invalid:
            input_type(name="Color", insertable=insertable)
        assert invalid.value.violations[0].message == "This must be true or false."

    def test_can_repeat_members_of_the_field(self, make_field, noon):
        field, changes = make_field(), FieldChanges(repeated={"data_type": "text", "source": "api"})
        assert field.with_changes(changes, by=API, at=noon) is field

    @pytest.mark.parametrize("data_type", ["date", "colour", None, DataType.TEXT])
    def test_can_not_change_the_data_type(self, data_type, make_field, noon, raises_violations):
        changes = FieldChanges(repeated={"data_type": data_type})
        with raises_violations("data_type: immutable") as invalid:
            make_field().with_changes(changes, by=API, at=noon)
        assert invalid.value.violations[0].message == "The data type of a field can't be changed."

    @pytest.mark.parametrize("channel", CHANNELS)
    def test_through_the_channel_of_the_field_changes_the_given_members(
        self, channel, make_field, noon
    ):
        field = make_field(channel)
        changed = field.with_changes(FieldChanges(name=" New "), by=channel, at=noon + MILLISECOND)
        expected = {"name": "New", "updated_at": noon + MILLISECOND, "version": 2}
        assert changed == evolve(field, **expected)

    def test_can_change_every_writable_member(self, make_field, noon):
        changes: dict[str, Any] = {
            "name": "Color",
            "allowed_values": COLORS,
            "insertable": False,
            "custom_insertion_code": "%%=v(@color)=%%",
            "custom_value_expression": "@color",
        }
        changed = make_field().with_changes(FieldChanges(**changes), by=API, at=noon)
        expected = {**changes, "allowed_values": AllowedValues(DataType.TEXT, COLORS)}
        assert {member: getattr(changed, member) for member in changes} == expected

    @pytest.mark.parametrize(
        "member", ["allowed_values", "custom_insertion_code", "custom_value_expression"]
    )
    def test_clears_members_that_are_none(self, member, make_field, noon):
        field = make_field(
            allowed_values=AllowedValues(DataType.TEXT, COLORS),
            custom_insertion_code="%%=v(@color)=%%",
            custom_value_expression="@color",
        )
        changes: dict[str, Any] = {member: None}
        changed = field.with_changes(FieldChanges(**changes), by=API, at=noon)
        assert getattr(changed, member) is None
        assert (
            evolve(changed, **{member: getattr(field, member)}, version=1, updated_at=noon) == field
        )

    @pytest.mark.parametrize(
        ("members", "violation"),
        [
            ({"name": "\n"}, "name: blank"),
            ({"custom_insertion_code": "\0"}, "custom_insertion_code: invalid_characters"),
            ({"custom_value_expression": " "}, "custom_value_expression: blank"),
        ],
    )
    def test_is_rejected_if_a_text_is_invalid(self, members, violation, raises_violations):
        with raises_violations(violation):
            FieldChanges(**members)
        with raises_violations(violation):
            FieldDraft(**{"name": "Size", "data_type": "number", **members})

    def test_checks_allowed_values_against_the_stored_data_type(
        self, make_field, noon, raises_violations
    ):
        field = make_field(data_type=DataType.NUMBER)
        with raises_violations("allowed_values.0: type", "allowed_values.2: duplicate_item"):
            field.with_changes(FieldChanges(allowed_values=["1", 2, 2]), by=API, at=noon)

    def test_can_not_set_allowed_values_of_a_boolean_field(
        self, make_field, noon, raises_violations
    ):
        field = make_field(data_type=DataType.BOOLEAN)
        with raises_violations("allowed_values: not_applicable"):
            field.with_changes(FieldChanges(allowed_values=[True]), by=API, at=noon)
        assert field.with_changes(FieldChanges(allowed_values=None), by=API, at=noon) is field

    def test_without_members_returns_the_field_itself(self, make_field, noon):
        field = make_field()
        assert field.with_changes(FieldChanges(), by=API, at=noon + timedelta(days=1)) is field

    def test_to_equal_values_returns_the_field_itself(self, make_field, noon):
        field = make_field(allowed_values=AllowedValues(DataType.TEXT, ["Gr\u00f6\u00dfe"]))
        same = FieldChanges(name="  First name ", allowed_values=["Gro\u0308\u00dfe"])
        assert field.with_changes(same, by=API, at=noon + timedelta(days=1)) is field

    @given(changes=CHANGES, at=CLOCKS)
    def test_changes_nothing_the_second_time(self, changes, at, make_field):
        changed = make_field().with_changes(changes, by=API, at=at)
        assert changed.with_changes(changes, by=API, at=at + timedelta(days=1)) is changed

    @given(changes=CHANGES, at=CLOCKS)
    def test_never_changes_the_identity_of_the_field(self, changes, at, make_field):
        def identity(field):
            return (field.id, field.organization_id, field.key, field.data_type, field.origin)

        field = make_field()
        changed = field.with_changes(changes, by=API, at=at)
        assert identity(changed) == identity(field)
        assert changed.created_at == field.created_at

    @given(steps=st.lists(st.tuples(CHANGES, CLOCKS), max_size=6))
    def test_increases_the_version_and_the_time_for_any_clock(self, steps, make_field):
        field, change_count = make_field(), 0
        for changes, at in steps:
            changed = field.with_changes(changes, by=API, at=at)
            change_count += changed is not field
            assert changed is field or format_instant(changed.updated_at) > format_instant(
                field.updated_at
            )
            field = changed
        assert field.version == 1 + change_count

    def test_increases_the_time_by_a_millisecond_if_the_clock_went_back(self, make_field, noon):
        changed = make_field().with_changes(
            FieldChanges(name="New"), by=API, at=noon - timedelta(days=1)
        )
        assert changed.updated_at == noon + MILLISECOND

    @pytest.mark.parametrize("microseconds", [0, 1, 999, 1_000, 1_001])
    def test_increases_the_time_by_whole_milliseconds(self, microseconds, make_field, noon):
        at = noon + timedelta(microseconds=microseconds)
        changed = make_field().with_changes(FieldChanges(name="New"), by=API, at=at)
        assert changed.updated_at == noon + MILLISECOND


class TestASync:
    """The update of a stored field that its ESP reports again."""

    @pytest.fixture
    def reported(self, noon):
        """Return the reported field. Its key and its time apply only if it is new."""
        return FieldDraft(
            name="Loyalty points",
            key="loyalty_points_7",
            data_type=DataType.NUMBER,
            allowed_values=AllowedValues(DataType.NUMBER, [1, 2]),
            insertable=False,
            custom_insertion_code="{{ points }}",
            custom_value_expression="points",
            esp_field_name="FNAME",
        ).define(by=SYNC, at=noon + timedelta(days=1))

    def test_changes_everything_but_the_field_s_identity(self, reported, make_field, noon):
        field = make_field(SYNC)
        later = noon + timedelta(hours=1)
        assert field.updated_from(reported, by=SYNC, at=later) == evolve(
            field,
            name="Loyalty points",
            data_type=DataType.NUMBER,
            allowed_values=AllowedValues(DataType.NUMBER, [1, 2]),
            insertable=False,
            custom_insertion_code="{{ points }}",
            custom_value_expression="points",
            updated_at=later,
            version=2,
        )

    def test_with_equal_values_returns_the_field_itself(self, make_field, noon):
        field = make_field(SYNC, allowed_values=AllowedValues(DataType.TEXT, COLORS))
        same = evolve(field, key="other", created_at=noon + timedelta(days=1))
        assert field.updated_from(same, by=SYNC, at=noon + timedelta(days=1)) is field

    def test_can_change_the_data_type_and_the_allowed_values_together(self, make_field, noon):
        field = make_field(SYNC, allowed_values=AllowedValues(DataType.TEXT, COLORS))
        number = make_field(SYNC, data_type=DataType.NUMBER)
        changed = field.updated_from(number, by=SYNC, at=noon)
        assert (changed.data_type, changed.allowed_values) == (DataType.NUMBER, None)

    @pytest.mark.parametrize("back", [timedelta(), timedelta(days=1)])
    def test_increases_the_time_for_any_clock(self, back, reported, make_field, noon):
        changed = make_field(SYNC).updated_from(reported, by=SYNC, at=noon - back)
        assert changed.updated_at == noon + MILLISECOND

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR, sync_channel(IntegrationId(8))])
    @pytest.mark.parametrize("changing", [True, False])
    def test_requires_the_integration_of_the_field(
        self, channel, changing, reported, make_field, noon
    ):
        field = make_field(SYNC)
        with pytest.raises(OperationForbidden):
            field.updated_from(reported if changing else field, by=channel, at=noon)

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
    def test_never_changes_a_field_of_another_origin(self, channel, reported, make_field, noon):
        with pytest.raises(OperationForbidden):
            make_field(channel).updated_from(reported, by=SYNC, at=noon)


class TestTheOrderOfChecks:
    INVALID = FieldChanges(allowed_values=[], repeated={"data_type": "date"})

    @pytest.mark.parametrize("channel", [ADMINISTRATOR, SYNC])
    def test_permission_comes_first(self, channel, make_field, noon):
        with pytest.raises(OperationForbidden):
            make_field(channel).with_changes(self.INVALID, by=API, at=noon, precondition=STALE)

    def test_the_version_comes_second(self, make_field, noon):
        field = make_field()
        with pytest.raises(VersionConflict) as conflict:
            field.with_changes(self.INVALID, by=API, at=noon, precondition=STALE)
        assert conflict.value.current == field.version_tag

    def test_the_rules_come_last_and_are_reported_together(
        self, make_field, noon, raises_violations
    ):
        with raises_violations("data_type: immutable", "allowed_values: empty"):
            make_field().with_changes(self.INVALID, by=API, at=noon)

    def test_a_change_without_members_requires_the_permission_and_the_version(
        self, make_field, noon
    ):
        field = make_field()
        with pytest.raises(OperationForbidden):
            field.with_changes(FieldChanges(), by=ADMINISTRATOR, at=noon)
        with pytest.raises(VersionConflict):
            field.with_changes(FieldChanges(), by=API, at=noon, precondition=STALE)

    def test_deleting_requires_the_permission_and_then_the_version(self, make_field):
        with pytest.raises(OperationForbidden):
            make_field(ADMINISTRATOR).require_deletable(by=API, precondition=STALE)
        with pytest.raises(VersionConflict):
            make_field().require_deletable(by=API, precondition=STALE)
        make_field().require_deletable(by=API, precondition=Precondition(match=ANY_VERSION))


class TestAReplacement:
    REPLACEMENT = FieldDraft(name="Color", data_type="text").changes()

    def test_sets_omitted_members_to_their_defaults(self, make_field, noon):
        field = make_field(
            allowed_values=AllowedValues(DataType.TEXT, COLORS),
            insertable=False,
            custom_insertion_code="%%=v(@color)=%%",
            custom_value_expression="@color",
        )
        replaced = field.with_changes(self.REPLACEMENT, by=API, at=noon)
        assert replaced == evolve(
            make_field(name="Color", key=field.key), version=2, updated_at=noon + MILLISECOND
        )

    def test_sets_members_to_their_new_values(self, make_field, noon):
        members: dict[str, Any] = {
            "name": "Color",
            "insertable": False,
            "custom_insertion_code": "%%=v(@color)=%%",
            "custom_value_expression": "@color",
        }
        replacement = FieldDraft(data_type="text", allowed_values=COLORS, **members)
        allowed_values = AllowedValues(DataType.TEXT, COLORS)
        wanted = make_field(key="first_name", allowed_values=allowed_values, **members)
        replaced = make_field().with_changes(replacement.changes(), by=API, at=noon)
        assert replaced == evolve(wanted, version=2, updated_at=noon + MILLISECOND)

    def test_changes_nothing_when_it_is_repeated(self, make_field, noon):
        replaced = make_field().with_changes(self.REPLACEMENT, by=API, at=noon)
        assert replaced.with_changes(self.REPLACEMENT, by=API, at=noon) is replaced

    def test_can_not_change_the_data_type(self, make_field, noon, raises_violations):
        changes = FieldDraft(name="Color", data_type="date").changes()
        with raises_violations("data_type: immutable"):
            make_field().with_changes(changes, by=API, at=noon)

    def test_creates_the_same_field_if_the_key_is_free(self, make_field, noon):
        members: dict[str, Any] = {
            "name": "Color",
            "insertable": False,
            "custom_insertion_code": "%%=v(@color)=%%",
            "custom_value_expression": "@color",
        }
        draft = FieldDraft(key="color", data_type="text", allowed_values=COLORS, **members)
        assert draft.changes().draft("color", by=API) == draft

    def test_of_a_free_key_requires_values_of_its_data_type(self, make_field, raises_violations):
        replacement = evolve(self.REPLACEMENT, allowed_values=["red", 5])
        with raises_violations("allowed_values.1: type"):
            replacement.draft("color", by=API)

    def test_by_a_sync_requires_an_existing_field(self, make_field, noon, raises_violations):
        field = make_field(SYNC)
        assert field.with_changes(self.REPLACEMENT, by=SYNC, at=noon).name == "Color"
        with raises_violations("esp_field_name: required"):
            self.REPLACEMENT.draft(field.key, by=SYNC)


class TestAVersionTag:
    @given(at=CLOCKS)
    def test_differs_for_each_update_time(self, at, make_field):
        tags = {
            evolve(make_field(), updated_at=moment).version_tag
            for moment in (at - MILLISECOND, at, at + MILLISECOND / 2, at + MILLISECOND)
        }
        assert len(tags) == 3

    def test_differs_for_each_field(self, make_field):
        assert evolve(make_field(), id=FieldId(11)).version_tag != make_field().version_tag

    def test_does_not_depend_on_the_version_number(self, make_field):
        assert evolve(make_field(), version=0).version_tag == make_field().version_tag

    @given(at=CLOCKS)
    def test_can_be_enclosed_in_quotation_marks(self, at, make_field):
        tag = evolve(make_field(), updated_at=at).version_tag
        assert all(c in "0123456789abcdef-" for c in tag)

    def test_of_a_catalog_differs_for_each_revision_and_organization(self):
        one, other = OrganizationId(1), OrganizationId(2)
        catalogs = [Catalog(one, 1, ()), Catalog(one, 2, ()), Catalog(other, 1, ())]
        assert len({catalog.version_tag for catalog in catalogs}) == 3


class TestACatalog:
    @pytest.fixture
    def catalog(self, make_field):
        fields = (
            evolve(make_field(API, name="City"), id=FieldId(3)),
            evolve(make_field(ADMINISTRATOR, name="Town"), id=FieldId(7)),
        )
        return Catalog(OrganizationId(1), 5, fields)

    def test_returns_a_field_by_its_id_and_by_its_key(self, catalog):
        for field in catalog.fields:
            assert catalog.get(field.id) is field
            assert catalog.get(field.key) is field

    @pytest.mark.parametrize("reference", [FieldId(4), FieldId(0), FieldKey("zip")])
    def test_raises_if_it_has_no_such_field(self, catalog, reference):
        with pytest.raises(FieldNotFound):
            catalog.get(reference)
