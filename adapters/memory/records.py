"""The ids of records in memory, and the organizations to which the records belong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from recipient_fields.application import OrganizationRecord, Records
from recipient_fields.domain import Organization, OrganizationId, OrganizationNotFound

T = TypeVar("T")


class Ids:
    """Assigns ascending ids to records of one kind."""

    def __init__(self) -> None:
        self.last: int = 0

    def assign(self) -> int:
        self.last += 1
        return self.last

    def skip_to(self, last: int) -> None:
        self.last = max(self.last, last)

    def records(self, records: Iterable[T]) -> Records[T]:
        stored = tuple(records)
        return Records(len(stored), self.last, stored)


class Organizations:
    """The organizations, by ascending id. Callers hold the lock."""

    def __init__(self) -> None:
        self._ids = Ids()
        self._by_id: dict[OrganizationId, Organization] = {}

    def all(self) -> tuple[Organization, ...]:
        return tuple(self._by_id.values())

    def add(self, name: str, created_at: datetime) -> Organization:
        organization_id = OrganizationId(self._ids.assign())
        organization = Organization(id=organization_id, name=name, created_at=created_at)
        self._by_id[organization_id] = organization
        return organization

    def get(self, organization_id: OrganizationId) -> Organization:
        organization = self._by_id.get(organization_id)
        if organization is None:
            raise OrganizationNotFound
        return organization

    def replace(self, organization: Organization) -> None:
        self._by_id[organization.id] = organization

    def remove(self, organization_id: OrganizationId) -> None:
        del self._by_id[organization_id]

    def records(
        self, to_record: Callable[[Organization], OrganizationRecord]
    ) -> Records[OrganizationRecord]:
        """Return the record of every organization."""
        return self._ids.records(map(to_record, self.all()))

    def load(self, records: Iterable[OrganizationRecord], last_id: int) -> None:
        """Replace all organizations by these."""
        organizations = sorted((each.organization for each in records), key=lambda each: each.id)
        self._ids.skip_to(last_id)
        self._by_id = {each.id: each for each in organizations}
