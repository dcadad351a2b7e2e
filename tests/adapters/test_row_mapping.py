"""Conversion of rows and of driver errors, which several storages use."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from recipient_fields.adapters.driver_errors import unavailable_on
from recipient_fields.adapters.row_mapping import UnreadableRow, field_values, read_field
from recipient_fields.domain import FieldId, OrganizationId, RecipientField, StorageUnavailable
from recipient_fields.testing.assertions import exact
from recipient_fields.testing.examples import a_definition
from recipient_fields.testing.strategies import stored_fields


@settings(deadline=None)
@given(stored_fields())
def test_a_field_can_be_read_from_its_row_and_from_the_row_as_json(field: RecipientField) -> None:
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
def test_a_row_that_breaks_a_rule_is_unreadable_and_reported(column: str, damaged: object) -> None:
    field = a_definition().with_id(FieldId(7), OrganizationId(1))
    row = {**field_values(field), column: damaged}
    with pytest.raises(UnreadableRow, match=r"^recipient_fields 7$"):
        read_field([*row.values()])


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
