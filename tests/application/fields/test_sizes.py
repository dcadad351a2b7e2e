"""The sizes that the domain measures are those of the documents that the service sends."""

from __future__ import annotations

import json

from attrs import evolve, fields
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.application.fields.documents import render_fields
from recipient_fields.domain import (
    Catalog,
    Change,
    FieldDefinition,
    OrganizationId,
    RecordedOperation,
    id_size,
    list_size,
)
from recipient_fields.testing.strategies import stored_fields


def listed_bytes(listed) -> int:
    document = render_fields(listed)
    return len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


@given(st.lists(stored_fields(), max_size=4))
def test_the_size_of_a_catalog_is_that_of_its_list(listed):
    catalog = Catalog(OrganizationId(1), 1, tuple(listed))
    assert catalog.size == list_size(sum(each.size for each in listed)) == listed_bytes(listed)


@given(stored_fields())
def test_a_definition_has_the_size_of_the_field_without_the_digits_of_its_id(field):
    definition = FieldDefinition(
        **{m.name: getattr(field, m.name) for m in fields(FieldDefinition)}
    )
    assert definition.size_without_id + id_size(field.id) == field.size


@given(stored_fields(), stored_fields())
def test_an_update_adds_the_difference_of_the_sizes(before, after):
    after = evolve(after, id=before.id)
    assert Change(RecordedOperation.UPDATED, before, after).added_size == after.size - before.size
