"""Cases for each method of FieldRepository."""

from __future__ import annotations

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    FieldKey,
    FieldNotFound,
    OrganizationId,
    RecipientField,
    VersionConflict,
)

from .assertions import raises, raising, recording
from .examples import a_definition, must_not_be_called, renaming, unchanged
from .field_changes import add_field, delete_field, update_field

REFUSALS = (
    VersionConflict(None),
    ValueError("refused"),
    TimeoutError("refused"),  # Also an error of drivers, which adapters translate.
    KeyboardInterrupt(),
)
"""What a change or a check may raise: a domain error, a defect, an interrupt."""


class FieldCases:
    """Cases for reading, adding, updating and deleting the fields of one organization."""

    def test_fields_are_ordered_by_id(self, fields: FieldRepository, ours: OrganizationId) -> None:
        added = tuple(add_field(fields, ours, a_definition(key)) for key in ("zip", "city", "age"))
        assert [field.id for field in added] == sorted({field.id for field in added})
        assert fields.all(ours).fields == added

    def test_a_changed_field_keeps_its_place(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        first = add_field(fields, ours, a_definition("zip"))
        second = add_field(fields, ours, a_definition("city"))
        first = update_field(fields, ours, first.id, renaming("Postcode"))
        assert fields.all(ours).fields == (first, second)

    def test_a_catalog_that_was_read_does_not_change(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        catalog = fields.all(ours)
        update_field(fields, ours, field.id, renaming("Town"))
        add_field(fields, ours, a_definition("age"))
        assert catalog.fields == (field,)

    def test_every_field_id_is_greater_than_all_earlier_ones(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        ids = [
            add_field(fields, organization_id, a_definition(key)).id
            for key in ("zip", "city", "age")
            for organization_id in (ours, theirs)
        ]
        assert ids[0] > 0
        assert ids == sorted(set(ids))

    def test_the_id_of_a_deleted_field_is_never_reused(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        largest = 0
        for _ in range(3):
            field = add_field(fields, ours, a_definition())
            assert field.id > largest
            largest = field.id
            delete_field(fields, ours, field.id)

    def test_a_change_receives_the_stored_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        received: list[tuple[object, ...]] = []
        for reference in (field.id, field.key):
            update_field(fields, ours, reference, recording(received, unchanged))
        assert set(received) == {(field,)}

    def test_the_result_of_a_change_is_stored_and_returned(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        for reference in (field.id, field.key):
            change = renaming(f"Called by {reference!r}")
            expected = change(field)
            assert update_field(fields, ours, reference, change) == expected
            field = fields.get(ours, field.id)
            assert field == expected

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_a_change_that_raises_stores_nothing(
        self, fields: FieldRepository, ours: OrganizationId, refusal: BaseException
    ) -> None:
        field = add_field(fields, ours, a_definition())
        before = fields.all(ours)

        with raises(refusal):
            update_field(fields, ours, field.id, raising(refusal))
        assert fields.all(ours) == before
        assert update_field(fields, ours, field.id, renaming("Town")).name == "Town"

    def test_a_change_without_effect_returns_the_stored_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        assert update_field(fields, ours, field.id, unchanged) == field
        assert update_field(fields, ours, field.key, evolve) == field
        assert fields.get(ours, field.id) == field

    def test_a_check_receives_the_stored_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        received: list[RecipientField] = []
        delete_field(fields, ours, field.key, received.append)
        assert set(received) == {field}

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_a_check_that_raises_keeps_the_field(
        self, fields: FieldRepository, ours: OrganizationId, refusal: BaseException
    ) -> None:
        field = add_field(fields, ours, a_definition())
        before = fields.all(ours)

        with raises(refusal):
            delete_field(fields, ours, field.id, raising(refusal))
        assert fields.all(ours) == before
        delete_field(fields, ours, field.id)

    def test_a_deleted_field_is_not_found(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        kept = add_field(fields, ours, a_definition("age"))
        for by_key in (False, True):
            field = add_field(fields, ours, a_definition())
            delete_field(fields, ours, field.key if by_key else field.id)
            assert fields.all(ours).fields == (kept,)
            for reference in (field.id, field.key):
                with pytest.raises(FieldNotFound):
                    fields.get(ours, reference)
                with pytest.raises(FieldNotFound):
                    update_field(fields, ours, reference, must_not_be_called)
                with pytest.raises(FieldNotFound):
                    delete_field(fields, ours, reference, must_not_be_called)

    def test_the_key_of_a_deleted_field_is_free_at_once(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        old = add_field(fields, ours, a_definition(custom_insertion_code="{{ city }}"))
        delete_field(fields, ours, old.id)
        definition = a_definition(by=ADMINISTRATOR)
        new = add_field(fields, ours, definition)
        assert new == definition.with_id(new.id, ours)
        assert fields.get(ours, FieldKey("city")) == new
        with pytest.raises(FieldNotFound):
            fields.get(ours, old.id)
