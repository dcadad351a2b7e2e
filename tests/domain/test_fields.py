"""Recipient fields: how one is made, and how it changes."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

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
    FieldLimitReached,
    FieldName,
    FieldNotFound,
    FieldReplacement,
    IntegrationId,
    InvalidField,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    Precondition,
    VersionConflict,
    format_instant,
    from_epoch_milliseconds,
    read_only_violations,
    sync_channel,
)

SYNC = sync_channel(IntegrationId(7))
CHANNELS = [API, ADMINISTRATOR, SYNC]
STALE = Precondition(match=frozenset({"1-0-0"}))
COLORS = ["red", "blue"]

AS_READ = {
    "id": 1,
    "key": "first_name",
    "data_type": "text",
    "source": "integration",
    "integration_id": 7,
    "esp_field_name": "FNAME",
    "created_at": "2026-11-20T12:00:00.000Z",
    "updated_at": "2026-11-20T12:00:00.000Z",
}
OTHER_VALUES = [
    *(None, True, 1.0, 7.0, 2**70, [], {}),
    *("1", "7", "", "FNAME ", "Text", "2026-11-20T12:00:00Z"),
]

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
).map(lambda changes: FieldChanges(**changes))
CLOCKS = st.integers(0, 4 * 10**12).map(from_epoch_milliseconds)


class TestADraft:
    def test_needs_a_name_and_a_data_type(self):
        draft = FieldDraft(name=" First name ", data_type=DataType.TEXT)
        assert (draft.name, draft.key, draft.insertable) == ("First name", "first_name", True)
        assert draft.allowed_values is None
        assert draft.custom_insertion_code is draft.custom_value_expression is None

    def test_can_bring_its_own_key(self):
        assert FieldDraft(name="日本", data_type=DataType.TEXT, key="japan").key == "japan"

    @pytest.mark.parametrize(("name", "rule"), [("日本", "required"), ("Type", "reserved")])
    def test_is_refused_where_its_name_gives_no_key(self, name, rule, raises_violations):
        with raises_violations(f"key: {rule}"):
            FieldDraft(name=name, data_type=DataType.TEXT)

    @pytest.mark.parametrize(
        ("members", "violation"),
        [
            ({"name": " "}, "name: blank"),
            ({"key": "First"}, "key: format"),
            ({"data_type": "colour"}, "data_type: unknown_value"),
            ({"data_type": 5}, "data_type: type"),
            ({"insertable": "yes"}, "insertable: type"),
            ({"insertable": 1}, "insertable: type"),
            ({"custom_insertion_code": ""}, "custom_insertion_code: blank"),
            ({"custom_value_expression": "e" * 2_001}, "custom_value_expression: too_long"),
        ],
    )
    def test_names_the_member_that_is_invalid(self, members, violation, raises_violations):
        with raises_violations(violation):
            FieldDraft(**{"name": "First name", "data_type": DataType.TEXT, **members})

    @pytest.mark.parametrize("channel", CHANNELS)
    def test_becomes_a_field_of_the_channel_s_origin(self, channel, make_field):
        origin = make_field(channel).origin
        assert (origin.source, origin.integration_id) == (channel.source, channel.integration_id)

    def test_of_a_sync_carries_the_esp_s_name(self, make_field):
        assert make_field(SYNC, esp_field_name="FNAME").origin.esp_field_name == "FNAME"

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
    def test_of_another_channel_carries_none(self, channel, make_field, raises_violations):
        with raises_violations("esp_field_name: not_applicable"):
            make_field(channel, esp_field_name="FNAME")

    def test_of_a_sync_without_one_is_refused(self, make_field, raises_violations):
        with raises_violations("esp_field_name: required"):
            make_field(SYNC, esp_field_name=None)

    def test_takes_plain_values_for_those_of_the_domain(self, noon):
        draft = FieldDraft(name="Size", data_type="number", allowed_values=(1.0, 2))
        definition = draft.define(by=API, at=noon)
        assert definition.data_type is DataType.NUMBER
        assert definition.allowed_values == AllowedValues(DataType.NUMBER, [1, 2])

    def test_names_the_plain_value_that_its_data_type_does_not_permit(
        self, noon, raises_violations
    ):
        draft = FieldDraft(name="Size", data_type="number", allowed_values=[1, "large"])
        with raises_violations("allowed_values.1: type"):
            draft.define(by=API, at=noon)

    def test_permits_only_values_of_its_data_type(self, make_field, raises_violations):
        numbers = AllowedValues(DataType.NUMBER, [1, 2])
        with raises_violations("allowed_values: type"):
            make_field(data_type=DataType.TEXT, allowed_values=numbers)


class TestANewField:
    def test_belongs_to_its_organization_under_the_id_it_is_given(self, noon):
        definition = FieldDraft(name="Size", data_type=DataType.NUMBER).define(by=API, at=noon)
        field = definition.with_id(FieldId(5), OrganizationId(3))
        assert (field.id, field.organization_id) == (5, 3)

    def test_is_at_its_first_version(self, make_field, noon):
        field = make_field()
        assert (field.version, field.created_at, field.updated_at) == (1, noon, noon)

    def test_keeps_whole_milliseconds_in_utc_whatever_the_clock_gives(self, noon):
        draft = FieldDraft(name="Size", data_type=DataType.NUMBER)
        definition = draft.define(by=API, at=noon + timedelta(microseconds=1_999))
        assert definition.created_at == noon + MILLISECOND

    def test_is_not_made_at_a_time_of_no_zone(self, noon):
        draft = FieldDraft(name="Size", data_type=DataType.NUMBER)
        with pytest.raises(ValueError, match="time zone"):
            draft.define(by=API, at=noon.replace(tzinfo=None))

    def test_can_not_be_edited_in_place(self, make_field):
        with pytest.raises(FrozenInstanceError):
            make_field().name = FieldName("Other")

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
    def test_may_be_stated_to_have_its_channel_s_origin(self, channel):
        stated = {"source": channel.source.value, "integration_id": None, "esp_field_name": None}
        assert read_only_violations(stated, by=channel) == []

    @pytest.mark.parametrize(
        ("member", "value"),
        [
            *(("source", "manual"), ("source", "API"), ("source", None), ("integration_id", 7)),
            *(("esp_field_name", "FNAME"), ("esp_field_name", ""), ("id", 1), ("id", None)),
            *(("created_at", "2026-11-20T12:00:00.000Z"), ("updated_at", None)),
        ],
    )
    def test_may_not_be_stated_to_have_anything_else(self, member, value):
        (violation,) = read_only_violations({member: value}, by=API)
        assert (violation.path, violation.rule.value) == ((member,), "read_only")


class TestARevision:
    @pytest.mark.parametrize("asked", [FieldChanges, partial(FieldReplacement, data_type="text")])
    @pytest.mark.parametrize("insertable", ["no", 0, None])
    def test_makes_insertable_true_or_false(self, asked, insertable, raises_violations):
        with raises_violations("insertable: type") as told:
            asked(name="Color", insertable=insertable)
        assert told.value.violations[0].message == "This must be true or false."

    @pytest.mark.parametrize(("member", "title"), [("key", "key"), ("data_type", "data type")])
    def test_says_what_can_not_be_changed(self, member, title, make_field, noon):
        with pytest.raises(InvalidField, match=f"The {title} of a field can't be changed"):
            make_field().with_changes(
                FieldChanges(read_only_members={member: "other"}), by=API, at=noon
            )

    @pytest.mark.parametrize("channel", CHANNELS)
    def test_through_the_field_s_own_channel_changes_what_is_sent(self, channel, make_field, noon):
        field = make_field(channel)
        revised = field.with_changes(FieldChanges(name=" New "), by=channel, at=noon + MILLISECOND)
        changed = {"name": "New", "updated_at": noon + MILLISECOND, "version": 2}
        assert revised == evolve(field, **changed)

    def test_can_change_every_writable_member(self, make_field, noon):
        changes = {
            "name": "Color",
            "allowed_values": COLORS,
            "insertable": False,
            "custom_insertion_code": "%%=v(@color)=%%",
            "custom_value_expression": "@color",
        }
        revised = make_field().with_changes(FieldChanges(**changes), by=API, at=noon)
        assert revised.allowed_values == AllowedValues(DataType.TEXT, COLORS)
        assert {m: getattr(revised, m) for m in changes if m != "allowed_values"} == {
            m: value for m, value in changes.items() if m != "allowed_values"
        }

    @pytest.mark.parametrize(
        "member", ["allowed_values", "custom_insertion_code", "custom_value_expression"]
    )
    def test_clears_what_is_none(self, member, make_field, noon):
        field = make_field(
            allowed_values=AllowedValues(DataType.TEXT, COLORS),
            custom_insertion_code="%%=v(@color)=%%",
            custom_value_expression="@color",
        )
        revised = field.with_changes(FieldChanges(**{member: None}), by=API, at=noon)
        assert getattr(revised, member) is None
        assert (
            evolve(revised, **{member: getattr(field, member)}, version=1, updated_at=noon) == field
        )

    @pytest.mark.parametrize(
        ("members", "violation"),
        [
            ({"name": "\n"}, "name: blank"),
            ({"custom_insertion_code": "\0"}, "custom_insertion_code: invalid_characters"),
            ({"custom_value_expression": " "}, "custom_value_expression: blank"),
        ],
    )
    def test_is_refused_where_a_text_is_invalid(self, members, violation, raises_violations):
        with raises_violations(violation):
            FieldChanges(**members)
        with raises_violations(violation):
            FieldReplacement(**{"name": "Size", "data_type": "number", **members})

    def test_judges_allowed_values_by_the_stored_data_type(
        self, make_field, noon, raises_violations
    ):
        field = make_field(data_type=DataType.NUMBER)
        with raises_violations("allowed_values.0: type", "allowed_values.2: duplicate_item"):
            field.with_changes(FieldChanges(allowed_values=["1", 2, 2]), by=API, at=noon)

    def test_of_a_boolean_field_can_not_restrict_it(self, make_field, noon, raises_violations):
        field = make_field(data_type=DataType.BOOLEAN)
        with raises_violations("allowed_values: not_applicable"):
            field.with_changes(FieldChanges(allowed_values=[True]), by=API, at=noon)
        assert field.with_changes(FieldChanges(allowed_values=None), by=API, at=noon) is field

    def test_of_nothing_is_the_field_itself(self, make_field, noon):
        field = make_field()
        assert field.with_changes(FieldChanges(), by=API, at=noon + timedelta(days=1)) is field

    def test_to_what_it_already_is_is_the_field_itself(self, make_field, noon):
        field = make_field(allowed_values=AllowedValues(DataType.TEXT, ["Gr\u00f6\u00dfe"]))
        same = FieldChanges(name="  First name ", allowed_values=["Gro\u0308\u00dfe"])
        assert field.with_changes(same, by=API, at=noon + timedelta(days=1)) is field

    @given(changes=CHANGES, at=CLOCKS)
    def test_made_twice_changes_nothing_the_second_time(self, changes, at, make_field):
        revised = make_field().with_changes(changes, by=API, at=at)
        assert revised.with_changes(changes, by=API, at=at + timedelta(days=1)) is revised

    @given(changes=CHANGES, at=CLOCKS)
    def test_never_touches_what_is_given_once(self, changes, at, make_field):
        def given_once(field):
            return (field.id, field.organization_id, field.key, field.data_type, field.origin)

        field = make_field()
        revised = field.with_changes(changes, by=API, at=at)
        assert given_once(revised) == given_once(field)
        assert revised.created_at == field.created_at

    @given(steps=st.lists(st.tuples(CHANGES, CLOCKS), max_size=6))
    def test_counts_the_version_and_moves_the_time_forward_whatever_the_clock_says(
        self, steps, make_field
    ):
        field, changed = make_field(), 0
        for changes, at in steps:
            revised = field.with_changes(changes, by=API, at=at)
            changed += revised is not field
            assert revised is field or format_instant(revised.updated_at) > format_instant(
                field.updated_at
            )
            field = revised
        assert field.version == 1 + changed

    def test_by_a_clock_that_went_back_is_a_millisecond_later(self, make_field, noon):
        revised = make_field().with_changes(
            FieldChanges(name="New"), by=API, at=noon - timedelta(days=1)
        )
        assert revised.updated_at == noon + MILLISECOND

    @pytest.mark.parametrize("microseconds", [0, 1, 999, 1_000, 1_001])
    def test_by_a_finer_clock_moves_by_whole_milliseconds(self, microseconds, make_field, noon):
        at = noon + timedelta(microseconds=microseconds)
        revised = make_field().with_changes(FieldChanges(name="New"), by=API, at=at)
        assert revised.updated_at == noon + MILLISECOND


class TestASync:
    """What becomes of a stored field when its ESP reports it again."""

    @pytest.fixture
    def reported(self, noon):
        """What the ESP reports; its key and its time are those of a field that is yet to be."""
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

    def test_of_what_is_stored_is_the_field_itself(self, make_field, noon):
        field = make_field(SYNC, allowed_values=AllowedValues(DataType.TEXT, COLORS))
        same = evolve(field, key="other", created_at=noon + timedelta(days=1))
        assert field.updated_from(same, by=SYNC, at=noon + timedelta(days=1)) is field

    def test_can_change_the_data_type_and_the_values_together(self, make_field, noon):
        field = make_field(SYNC, allowed_values=AllowedValues(DataType.TEXT, COLORS))
        number = make_field(SYNC, data_type=DataType.NUMBER)
        changed = field.updated_from(number, by=SYNC, at=noon)
        assert (changed.data_type, changed.allowed_values) == (DataType.NUMBER, None)

    @pytest.mark.parametrize("back", [timedelta(), timedelta(days=1)])
    def test_moves_the_time_forward_whatever_the_clock_says(self, back, reported, make_field, noon):
        changed = make_field(SYNC).updated_from(reported, by=SYNC, at=noon - back)
        assert changed.updated_at == noon + MILLISECOND

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR, sync_channel(IntegrationId(8))])
    @pytest.mark.parametrize("changing", [True, False])
    def test_needs_the_field_s_integration(self, channel, changing, reported, make_field, noon):
        field = make_field(SYNC)
        with pytest.raises(OperationForbidden):
            field.updated_from(reported if changing else field, by=channel, at=noon)

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
    def test_never_changes_a_field_of_another_origin(self, channel, reported, make_field, noon):
        with pytest.raises(OperationForbidden):
            make_field(channel).updated_from(reported, by=SYNC, at=noon)


class TestTheOrderOfChecks:
    INVALID = FieldChanges(allowed_values=[], read_only_members={"id": 2})

    @pytest.mark.parametrize("channel", [ADMINISTRATOR, SYNC])
    def test_permission_comes_first(self, channel, make_field, noon):
        with pytest.raises(OperationForbidden):
            make_field(channel).with_changes(self.INVALID, by=API, at=noon, precondition=STALE)

    def test_the_version_comes_second(self, make_field, noon):
        field = make_field()
        with pytest.raises(VersionConflict) as conflict:
            field.with_changes(self.INVALID, by=API, at=noon, precondition=STALE)
        assert conflict.value.current == field.version_tag

    def test_the_rules_come_last_and_all_at_once(self, make_field, noon, raises_violations):
        changes = evolve(self.INVALID, read_only_members={"id": 2, "key": "other", "data_type": 5})
        with raises_violations(
            "id: read_only", "key: immutable", "data_type: immutable", "allowed_values: empty"
        ):
            make_field().with_changes(changes, by=API, at=noon)

    def test_even_a_change_of_nothing_needs_permission_and_the_version(self, make_field, noon):
        field = make_field()
        with pytest.raises(OperationForbidden):
            field.with_changes(FieldChanges(), by=ADMINISTRATOR, at=noon)
        with pytest.raises(VersionConflict):
            field.with_changes(FieldChanges(), by=API, at=noon, precondition=STALE)

    def test_deleting_needs_permission_then_the_version(self, make_field):
        with pytest.raises(OperationForbidden):
            make_field(ADMINISTRATOR).require_deletable(by=API, precondition=STALE)
        with pytest.raises(VersionConflict):
            make_field().require_deletable(by=API, precondition=STALE)
        make_field().require_deletable(by=API, precondition=Precondition(match=ANY_VERSION))


class TestAStatedMember:
    def test_may_be_sent_back_as_it_was_read(self, make_field, noon):
        field = make_field(SYNC)
        assert (
            field.with_changes(FieldChanges(read_only_members=AS_READ), by=SYNC, at=noon) is field
        )

    @pytest.mark.parametrize("value", OTHER_VALUES, ids=repr)
    @pytest.mark.parametrize("member", AS_READ)
    def test_may_not_be_anything_else(self, member, value, make_field, noon, raises_violations):
        rule = "immutable" if member in {"key", "data_type"} else "read_only"
        with raises_violations(f"{member}: {rule}"):
            make_field(SYNC).with_changes(
                FieldChanges(read_only_members={member: value}), by=SYNC, at=noon
            )

    def test_that_is_unknown_is_read_only(self, make_field, noon, raises_violations):
        with raises_violations("version: read_only"):
            make_field().with_changes(
                FieldChanges(read_only_members={"version": 1}), by=API, at=noon
            )

    def test_of_a_stale_copy_is_refused(self, make_field, noon, raises_violations):
        field = make_field()
        stale = {"updated_at": format_instant(field.updated_at)}
        revised = field.with_changes(
            FieldChanges(name="New", read_only_members=stale), by=API, at=noon
        )
        with raises_violations("updated_at: read_only"):
            revised.with_changes(
                FieldChanges(name="Newer", read_only_members=stale), by=API, at=noon
            )


class TestAReplacement:
    REPLACEMENT = FieldReplacement(name="Color", data_type="text")

    def test_gives_members_left_out_their_defaults(self, make_field, noon):
        field = make_field(
            allowed_values=AllowedValues(DataType.TEXT, COLORS),
            insertable=False,
            custom_insertion_code="%%=v(@color)=%%",
            custom_value_expression="@color",
        )
        replaced = field.with_changes(self.REPLACEMENT.changes(), by=API, at=noon)
        assert replaced == evolve(
            make_field(name="Color", key=field.key), version=2, updated_at=noon + MILLISECOND
        )

    def test_gives_members_their_new_values(self, make_field, noon):
        members = {
            "name": "Color",
            "insertable": False,
            "custom_insertion_code": "%%=v(@color)=%%",
            "custom_value_expression": "@color",
        }
        replacement = FieldReplacement(data_type="text", allowed_values=COLORS, **members)
        allowed_values = AllowedValues(DataType.TEXT, COLORS)
        wanted = make_field(key="first_name", allowed_values=allowed_values, **members)
        replaced = make_field().with_changes(replacement.changes(), by=API, at=noon)
        assert replaced == evolve(wanted, version=2, updated_at=noon + MILLISECOND)

    def test_that_is_made_twice_changes_nothing_the_second_time(self, make_field, noon):
        replaced = make_field().with_changes(self.REPLACEMENT.changes(), by=API, at=noon)
        assert replaced.with_changes(self.REPLACEMENT.changes(), by=API, at=noon) is replaced

    @pytest.mark.parametrize("data_type", ["number", "Text", "", None, 5, True, [], {}], ids=repr)
    def test_can_not_change_the_data_type(self, data_type, make_field, noon, raises_violations):
        changes = FieldReplacement(name="Color", data_type=data_type).changes()
        with raises_violations("data_type: immutable"):
            make_field().with_changes(changes, by=API, at=noon)

    def test_makes_the_same_field_where_the_key_is_free(self, make_field, noon):
        members = {
            "name": "Color",
            "insertable": False,
            "custom_insertion_code": "%%=v(@color)=%%",
            "custom_value_expression": "@color",
        }
        replacement = FieldReplacement(data_type="text", allowed_values=COLORS, **members)
        draft = replacement.draft(make_field().key, by=API)
        assert draft == FieldDraft(
            key="first_name",
            data_type=DataType.TEXT,
            allowed_values=AllowedValues(DataType.TEXT, COLORS),
            **members,
        )

    def test_of_a_free_key_may_state_that_key_and_the_channel_s_origin(self, make_field):
        key = make_field().key
        stated = {"key": "first_name", "source": "api", "integration_id": None}
        assert evolve(self.REPLACEMENT, read_only_members=stated).draft(key, by=API).key == key

    def test_of_a_free_key_names_all_that_is_wrong(self, make_field, raises_violations):
        replacement = evolve(
            self.REPLACEMENT, allowed_values=["red", 5], read_only_members={"key": "other", "id": 1}
        )
        with raises_violations("key: immutable", "id: read_only", "allowed_values.1: type"):
            replacement.draft(make_field().key, by=API)

    @pytest.mark.parametrize(
        ("data_type", "rule"), [("string", "unknown_value"), (None, "type"), (True, "type")]
    )
    def test_of_a_free_key_needs_a_known_data_type(
        self, data_type, rule, make_field, raises_violations
    ):
        replacement = evolve(self.REPLACEMENT, data_type=data_type, allowed_values=COLORS)
        with raises_violations(f"data_type: {rule}"):
            replacement.draft(make_field().key, by=API)

    def test_by_a_sync_is_of_fields_that_exist(self, make_field, noon, raises_violations):
        field = make_field(SYNC)
        assert field.with_changes(self.REPLACEMENT.changes(), by=SYNC, at=noon).name == "Color"
        with raises_violations("esp_field_name: required"):
            self.REPLACEMENT.draft(field.key, by=SYNC)


class TestAVersionTag:
    @given(at=CLOCKS)
    def test_names_one_moment_only(self, at, make_field):
        tags = {
            evolve(make_field(), updated_at=moment).version_tag
            for moment in (at - MILLISECOND, at, at + MILLISECOND / 2, at + MILLISECOND)
        }
        assert len(tags) == 3

    def test_names_one_field(self, make_field):
        assert evolve(make_field(), id=FieldId(11)).version_tag != make_field().version_tag

    def test_needs_only_what_every_reader_is_told(self, make_field):
        assert evolve(make_field(), version=0).version_tag == make_field().version_tag

    @given(at=CLOCKS)
    def test_can_be_written_between_quotation_marks(self, at, make_field):
        tag = evolve(make_field(), updated_at=at).version_tag
        assert all(c in "0123456789abcdef-" for c in tag)

    def test_of_a_catalog_names_one_revision_of_one_organization(self):
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

    @pytest.mark.parametrize("holder", [0, 1])
    def test_has_no_room_for_a_taken_key_of_whatever_origin(self, catalog, make_field, holder):
        field = catalog.fields[holder]
        for by in CHANNELS:
            with pytest.raises(KeyTaken) as taken:
                catalog.require_addable(make_field(by, name="Other", key=field.key), limit=0)
            assert (taken.value.key, taken.value.existing_id) == (field.key, field.id)

    @pytest.mark.parametrize("by", [API, ADMINISTRATOR])
    def test_has_room_below_the_limit_of_fields_of_one_source(self, catalog, make_field, by):
        zip_code = make_field(by, name="Zip")
        catalog.require_addable(zip_code)
        catalog.require_addable(zip_code, limit=2)
        for limit in (1, 0):
            with pytest.raises(FieldLimitReached) as reached:
                catalog.require_addable(zip_code, limit=limit)
            assert reached.value.limit == limit

    def test_counts_no_fields_of_another_source(self, catalog, make_field):
        catalog.require_addable(make_field(SYNC, name="Zip"), limit=1)
        with pytest.raises(FieldLimitReached):
            catalog.require_addable(make_field(SYNC, name="Zip"), limit=0)
