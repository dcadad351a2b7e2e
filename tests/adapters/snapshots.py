"""Snapshots with any number of fields, without a storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from recipient_fields.application import OrganizationRecord, Records, Snapshot
from recipient_fields.domain import FieldId, Organization, OrganizationId, RecipientField
from recipient_fields.testing.examples import NOW, a_definition

OURS = OrganizationId(1)


def nothing(_: int) -> None:
    """Do nothing before a field is read."""


def snapshot_of(count: int, before: Callable[[int], None] = nothing) -> Snapshot:
    """Return one organization with `count` fields. `before` is called with each number."""

    def fields() -> Iterator[RecipientField]:
        for number in range(1, count + 1):
            before(number)
            yield a_definition(f"field_{number}").with_id(FieldId(number), OURS)

    organization = Organization(id=OURS, name="ACME", created_at=NOW)
    return Snapshot(
        organizations=Records(1, 1, [OrganizationRecord(organization, 7)]),
        integrations=Records(0, 0, []),
        api_keys=Records(0, 0, []),
        fields=Records(count, count, fields()),
        history=Records(0, 0, []),
        administrators=Records(0, 0, []),
    )
