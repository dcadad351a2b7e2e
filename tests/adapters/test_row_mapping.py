"""Conversion of rows and of driver errors, which several storages use."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.relational.api_keys import read_api_key
from recipient_fields.adapters.row_mapping import (
    UnreadableRow,
    field_document,
    field_values,
    found_key,
    read_field,
    read_record,
    record_values,
    stored_key,
)
from recipient_fields.adapters.storage_errors import unavailable_on
from recipient_fields.domain import (
    API,
    Author,
    Change,
    FieldId,
    HistoryRecord,
    IntegrationId,
    OrganizationId,
    RecordedOperation,
    StorageUnavailable,
    sync_channel,
)
from recipient_fields.testing.assertions import exact
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition
from recipient_fields.testing.strategies import definitions, stored_fields


@given(stored_fields())
def test_a_field_can_be_read_from_its_row_and_from_the_row_as_json(field):
    row = list(field_values(field).values())
    assert exact(read_field(row)) == exact(field)
    assert exact(read_field(json.loads(json.dumps(row)))) == exact(field)


@pytest.mark.parametrize(
    ("column", "damaged"),
    [
        ("allowed_values", "[1"),
        ("allowed_values", "[1]"),
        ("created_at", 10**18),
        ("key", "no key"),
        ("source", "nobody"),
    ],
)
def test_a_row_that_breaks_a_rule_is_unreadable_and_reported(column, damaged):
    field = a_definition().with_id(FieldId(7), OrganizationId(1))
    row = {**field_values(field), column: damaged}
    with pytest.raises(UnreadableRow, match=r"^recipient_fields 7$"):
        read_field([*row.values()])


def record_row(record: HistoryRecord) -> dict[str, Any]:
    """Return the columns that `read_record` expects."""
    row: dict[str, Any] = {**record_values(record)}
    assert (row.pop("key"), row.pop("source")) == (record.key, record.field.origin.source.value)
    return row


@given(stored_fields(), stored_fields(), st.sampled_from(RecordedOperation))
def test_a_record_can_be_read_from_its_row(before, after, operation):
    after = evolve(after, id=before.id, organization_id=before.organization_id)
    change = Change(
        operation,
        before if operation in {RecordedOperation.UPDATED, RecordedOperation.DELETED} else None,
        None if operation is RecordedOperation.DELETED else after,
    )
    for author in (AUTHOR, Author(API), Author(sync_channel(IntegrationId(7)), name="Größe")):
        record = change.with_sequence(7, occurred_at=NOW, author=author)
        assert exact(read_record([*record_row(record).values()])) == exact(record)


@given(definitions())
def test_a_definition_has_the_document_of_the_new_field(definition):
    field = definition.with_id(FieldId(7), OrganizationId(1))
    assert field_document(definition) == field_document(field)


@pytest.mark.parametrize(
    ("column", "damaged"),
    [
        ("operation", "updated"),
        ("operation", "moved"),
        ("author", "{}"),
        ("after", None),
        ("after", "{"),
        ("after", '{"name": "City"}'),
        ("after", field_document(a_definition()).replace('"allowed_values"', '"values"')),
        ("after", field_document(a_definition()).replace('"text"', '"colour"')),
        ("occurred_at", 10**18),
    ],
)
def test_a_record_that_breaks_a_rule_is_unreadable_and_reported(column, damaged):
    field = a_definition().with_id(FieldId(7), OrganizationId(1))
    change = Change(RecordedOperation.CREATED, None, field)
    row = record_row(change.with_sequence(5, occurred_at=NOW, author=AUTHOR))
    with pytest.raises(UnreadableRow, match=r"^recipient_field_changes \(1, 5\)$"):
        read_record([*{**row, column: damaged}.values()])


def test_the_listed_errors_of_a_driver_become_storage_unavailable() -> None:
    full = OSError("disk full")
    with (
        pytest.raises(StorageUnavailable, match=r"^Disk: disk full$") as raised,
        unavailable_on(OSError, KeyError, technology="Disk"),
    ):
        raise full
    assert raised.value.__cause__ is full


def test_other_errors_are_raised_unchanged() -> None:
    with pytest.raises(ValueError, match="defect"), unavailable_on(OSError, technology="Disk"):
        raise ValueError("defect")


def test_times_are_whole_milliseconds_since_1970() -> None:
    at = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    field = a_definition().with_id(FieldId(7), OrganizationId(1))
    row = {**field_values(field), "created_at": 1_000, "updated_at": 1_000}
    assert read_field([*row.values()]).created_at == at


@pytest.mark.parametrize(
    ("read", "row"),
    [
        (lambda row: stored_key(*row), (7, 1, "Key", "no access", b"", "rfk", None, *[NOW] * 4)),
        (read_api_key, (7, 1, "Key", "read", b"", "rfk", None, 10**18, None, None, None)),
        (lambda row: found_key(*row), (7, 1, "no access", 1, None, None, None)),
    ],
    ids=["stored_key", "read_api_key", "found_key"],
)
def test_an_unreadable_api_key_is_reported_with_its_id(read, row):
    with pytest.raises(UnreadableRow, match=r"^api_keys 7$"):
        read(row)
