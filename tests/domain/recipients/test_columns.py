"""The columns of recipients' data have names and keys, and are matched with fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    API,
    Channel,
    DataType,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    IntegrationId,
    OrganizationId,
    RecipientField,
    clean_line,
    match_columns,
    propose_keys,
    sync_channel,
)
from recipient_fields.testing.examples import NOW

titles = st.lists(st.text(max_size=20) | st.text("aB _1é", max_size=6), unique=True, max_size=10)


def a_field(key: str, name: str, by: Channel = API) -> RecipientField:
    esp_name = None if by is API else name
    draft = FieldDraft(name=name, key=key, data_type=DataType.TEXT, esp_field_name=esp_name)
    return draft.define(by=by, at=NOW).with_id(FieldId(1), OrganizationId(1))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Shoe size", "Shoe size"),
        (" Shoe\r\n  size\t", "Shoe size"),
        ("Gro\u0308\u00dfe", "Größe"),
        ("a\0b\ud800", "ab"),
        ("x" * 300, "x" * 255),
        (" \n", ""),
    ],
)
def test_the_title_of_a_column_is_the_name_of_its_field(title, name):
    assert clean_line(title) == name


@given(st.text())
def test_the_name_of_a_column_is_valid_and_does_not_change(title):
    name = clean_line(title)
    assert clean_line(name) == name
    if name:
        assert FieldName(name) == name


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        (["Shoe size", "Größe (cm)"], ["shoe_size", "grosse_cm"]),
        (["Tier", "tier", "TIER"], ["tier_2", "tier", "tier_3"]),
        (["ID", "sys_time", "2nd"], ["field_id", "field_sys_time", "f_2nd"]),
        (["Имя", "tier", "名前"], ["field_1", "tier", "field_3"]),
        (["field 2", "Имя"], ["field_2", "field_2_2"]),
        (["x" * 70, "X" * 70], ["x" * 63, "x" * 58 + "_2"]),
    ],
)
def test_keys_are_derived_from_the_titles(columns, keys):
    assert propose_keys(columns) == dict(zip(columns, keys, strict=True))


def test_a_key_that_is_taken_is_not_proposed() -> None:
    assert propose_keys(["tier", "Tier"], {"tier"}) == {"tier": "tier_2", "Tier": "tier_3"}


@given(titles, st.sets(st.sampled_from(["a", "a_2", "field_1", "a1"])))
def test_proposed_keys_are_valid_and_different(columns, taken):
    keys = propose_keys(columns, taken)
    assert list(keys) == columns
    assert all(isinstance(key, FieldKey) for key in keys.values())
    assert len({*keys.values()} | taken) == len(keys) + len(taken)


def test_a_column_is_matched_by_the_key_and_then_by_the_name_of_a_field() -> None:
    fields = [a_field("tier", "Level"), a_field("level", "Tier"), a_field("size", "Shoe  size")]
    assert match_columns(["tier", "Tier", "Shoe\nsize", "SIZE"], fields) == {
        "tier": "tier",
        "Tier": "level",
        "Shoe\nsize": "size",
    }


@pytest.mark.parametrize("title", ["Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"])
@pytest.mark.parametrize("name", ["Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"])
def test_the_same_letters_in_another_form_of_unicode_match(title, name):
    fields = [a_field("size", "Size")]
    assert match_columns([title], fields, esp_names={name: "size"}) == {title: "size"}
    assert match_columns([title], [a_field("size", name)]) == {title: "size"}


def test_a_name_of_two_fields_matches_no_column() -> None:
    fields = [a_field("tier", "Tier"), a_field("tier_2", "Tier")]
    assert match_columns(["Tier"], fields) == {}


def test_the_name_of_a_counterpart_means_its_definition() -> None:
    fields = [a_field("tier", "Level"), a_field("tier_2", "Tier")]
    definitions = {"tier_2": "tier"}
    assert match_columns(["Tier", "tier_2"], fields, definitions) == {
        "Tier": "tier",
        "tier_2": "tier_2",
    }


def test_the_name_of_an_api_or_manual_field_has_precedence() -> None:
    synced = a_field("other", "Tier", by=sync_channel(IntegrationId(1)))
    assert match_columns(["Tier"], [a_field("tier", "Tier"), synced]) == {"Tier": "tier"}
    assert match_columns(["Tier"], [synced]) == {"Tier": "other"}
