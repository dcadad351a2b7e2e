"""Cases for `create` of FieldCreator, which equals `change` with `plan_creation`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Final

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository, HistoryRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    FieldDefinition,
    FieldId,
    FieldLimitReached,
    KeyTaken,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    RecipientFieldsError,
)

from .assertions import attempt, exact
from .concurrency import assert_one_succeeded, race
from .examples import (
    ALLOWED_VALUES,
    AUTHOR,
    INSERTION_CODES,
    LATER,
    LINES,
    NEVER_ASSIGNED,
    NOW,
    SYNC,
    a_definition,
    records_of,
)
from .field_changes import add_field, add_with_plan

CREATIONS: Final[dict[str, tuple[FieldDefinition, int | None]]] = {
    "without a limit": (a_definition("town"), None),
    "below the limit": (a_definition("town"), 2),
    "at the limit": (a_definition("town"), 1),
    "above the limit": (a_definition("town"), 0),
    "with a negative limit": (a_definition("town"), -1),
    "with a taken key": (a_definition("city"), None),
    "with a taken key at the limit": (a_definition("city"), 1),
    "with a key of another source": (a_definition("city", by=ADMINISTRATOR), 0),
    "by an administrator below the limit": (a_definition("town", by=ADMINISTRATOR), 1),
    "by an administrator at the limit": (a_definition("town", by=ADMINISTRATOR), 0),
    "by an integration": (a_definition("town", by=SYNC), None),
    "by an integration at the limit": (a_definition("town", by=SYNC), 0),
    "at an earlier time": (evolve(a_definition("town"), created_at=NOW), None),
    "at a later time": (evolve(a_definition("town"), created_at=LATER), None),
    "with every member": (
        a_definition(
            "town",
            name=LINES["umlauts"],
            allowed_values=ALLOWED_VALUES["like JSON"],
            insertable=False,
            custom_insertion_code=INSERTION_CODES["injection"],
            custom_value_expression=INSERTION_CODES["lines"],
        ),
        None,
    ),
}
"""Creations of a field in a catalog with the field `city`, which the API manages."""


class CreationCases:
    """Cases for the two ways to create a field. They are the same way if `create` is missing."""

    threads: int = 8

    @pytest.mark.parametrize(("definition", "limit"), CREATIONS.values(), ids=CREATIONS)
    def test_both_ways_to_create_a_field_have_the_same_effect(
        self,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        definition: FieldDefinition,
        limit: int | None,
    ) -> None:
        outcomes = []
        for organization_id, add in ((ours, add_field), (theirs, add_with_plan)):
            city = add(fields, organization_id, a_definition(), limit=1)
            before = fields.all(organization_id)
            added = attempt(partial(add, fields, organization_id, definition, limit=limit))
            after = fields.all(organization_id)
            stored = isinstance(added, RecipientField)
            if isinstance(added, KeyTaken):
                assert added.existing_id == city.id
            assert after.fields == ((city, added) if stored else (city,))
            assert (after.revision > before.revision) is stored
            outcomes.append(_without_ids(added))
        assert outcomes[0] == outcomes[1]

    def test_both_ways_to_create_a_field_require_an_organization(
        self, fields: FieldRepository
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            organization_id = OrganizationId(never_assigned)
            for definition, limit in product(
                (a_definition(), a_definition(by=ADMINISTRATOR)), (None, 0, 1)
            ):
                for add in (add_field, add_with_plan):
                    with pytest.raises(OrganizationNotFound):
                        add(fields, organization_id, definition, limit=limit)

    def test_a_key_is_unique_under_concurrent_creations_of_both_ways(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(*self._creations(fields, ours, lambda _: "city", limit=None))
        stored = assert_one_succeeded(outcomes, RecipientField, KeyTaken)
        assert fields.all(ours).fields == (stored,)

    def test_a_limit_is_exact_under_concurrent_creations_of_both_ways(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(*self._creations(fields, ours, "city_{}".format, limit=3))
        assert [type(each) for each in outcomes].count(FieldLimitReached) == self.threads - 3
        assert len(fields.all(ours).fields) == 3

    def _creations(
        self,
        fields: FieldRepository,
        organization_id: OrganizationId,
        key: Callable[[int], str],
        *,
        limit: int | None,
    ) -> list[Callable[[], Any]]:
        """Return a creation for each thread, half of them of each way."""
        return [
            partial(
                (add_field, add_with_plan)[number % 2],
                fields,
                organization_id,
                a_definition(key(number), by=API),
                limit=limit,
                author=AUTHOR,
            )
            for number in range(self.threads)
        ]


class RecordedCreationCases:
    """Cases for the records of the two ways to create a field."""

    @pytest.mark.parametrize(("definition", "limit"), CREATIONS.values(), ids=CREATIONS)
    def test_both_ways_to_create_a_field_are_recorded_in_the_same_way(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        definition: FieldDefinition,
        limit: int | None,
    ) -> None:
        outcomes = []
        for organization_id, add in ((ours, add_field), (theirs, add_with_plan)):
            add(fields, organization_id, a_definition(), limit=1)
            attempt(partial(add, fields, organization_id, definition, limit=limit))
            records = records_of(history, organization_id)
            assert [each.after for each in records] == list(fields.all(organization_id).fields)
            outcomes.append([(r.sequence, r.operation, r.author, r.occurred_at) for r in records])
        assert outcomes[0] == outcomes[1]


def _without_ids(added: RecipientField | RecipientFieldsError) -> object:
    """Return the outcome without the ids, which differ in two organizations."""
    if isinstance(added, RecipientField):
        return exact(evolve(added, id=FieldId(0), organization_id=OrganizationId(0)))
    return type(added), str(added)
