"""Every statement on fields contains the id of their organization."""

from __future__ import annotations

import pytest

from recipient_fields.domain import FieldKey, FieldQuery
from recipient_fields.testing.examples import AUTHOR, LATER, a_definition, permit, renaming
from recipient_fields.testing.field_changes import add_field, delete_field, update_field

from .statements import names_its_organization

WITHOUT_ORGANIZATION = (
    "SELECT * FROM recipient_fields",
    "SELECT * FROM recipient_fields WHERE id = %(id)s",
    "SELECT * FROM recipient_fields WHERE organization_id = 1",
    "SELECT * FROM recipient_fields WHERE id = %(id)s OR organization_id = %(organization_id)s",
    "SELECT * FROM organizations, recipient_fields",
    "DELETE FROM recipient_fields",
    "UPDATE recipient_fields SET name = %(name)s WHERE id = %(id)s",
    "TRUNCATE recipient_fields",
    "INSERT INTO recipient_fields (organization_id) VALUES (1)",
    """
    SELECT * FROM recipient_fields WHERE organization_id = %(organization_id)s
    UNION SELECT * FROM recipient_fields
    """,
)


@pytest.mark.parametrize("statement", WITHOUT_ORGANIZATION)
def test_a_statement_without_the_organization_is_detected(statement):
    assert not names_its_organization(statement)


def test_every_statement_on_fields_contains_the_organization(storage, ours, statements):
    field = add_field(storage.fields, ours, a_definition(), limit=1, author=AUTHOR)
    storage.fields.get(ours, field.id)
    storage.fields.get(ours, FieldKey("city"))
    storage.fields.all(ours)
    storage.fields.publish(ours)
    storage.fields.select(ours, FieldQuery())
    update_field(storage.fields, ours, field.id, renaming("Town"), author=AUTHOR)
    delete_field(storage.fields, ours, field.id, permit, author=AUTHOR, at=LATER)
    on_fields = {statement for statement in statements if "recipient_fields" in statement}
    assert len(on_fields) >= 8
    assert all(map(names_its_organization, on_fields))


def test_fields_and_integrations_of_one_revision_are_two_round_trips(storage, ours, round_trips):
    storage.fields.all(ours)
    round_trips.clear()
    storage.integrations.read_catalog(ours)
    assert len(round_trips) == 2
