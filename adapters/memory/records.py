"""The records of one kind in memory, with the ids that they get."""

from __future__ import annotations

from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from recipient_fields.application import Records
from recipient_fields.domain import OrganizationId


class Record(Protocol):
    """A record with an id."""

    @property
    def id(self) -> int:
        """The id, which is unique in its table."""


class OwnedRecord(Record, Protocol):
    """A record of an organization."""

    @property
    def organization_id(self) -> OrganizationId:
        """The id of the organization."""


R = TypeVar("R", bound=Record)
T = TypeVar("T", bound=OwnedRecord)


class Table(Generic[R]):
    """The records of one kind by ascending id. Callers hold the lock."""

    def __init__(self) -> None:
        self.rows: dict[int, R] = {}
        self.last_id: int = 0

    def assign_id(self) -> int:
        """Return an id that no record has had."""
        self.last_id += 1
        return self.last_id

    def put(self, record: R) -> R:
        """Store a new or changed record, and return it."""
        self.rows[record.id] = record
        return record

    def records(self) -> Records[R]:
        """Return all records, for a snapshot."""
        return Records(len(self.rows), self.last_id, tuple(self.rows.values()))

    def load(self, records: Records[R]) -> None:
        """Store the records of a snapshot."""
        for record in sorted(records, key=attrgetter("id")):
            self.put(record)
        self.last_id = max(self.last_id, records.last_id)


class OwnedTable(Table[T]):
    """The records of organizations. For each one, those of the others do not exist."""

    def __init__(self, missing: type[Exception]) -> None:
        """`missing` is raised if an organization has no such record."""
        super().__init__()
        self._missing = missing

    def of(self, organization_id: OrganizationId) -> tuple[T, ...]:
        """Return the records of the organization."""
        rows = self.rows.values()
        return tuple(each for each in rows if each.organization_id == organization_id)

    def get(self, organization_id: OrganizationId, record_id: int) -> T:
        """Return the record."""
        record = self.rows.get(record_id)
        if record is None or record.organization_id != organization_id:
            raise self._missing
        return record

    def delete(self, record: T) -> None:
        """Delete the record."""
        del self.rows[record.id]

    def delete_of(self, organization_id: OrganizationId) -> None:
        """Delete the records of the organization."""
        for record in self.of(organization_id):
            self.delete(record)
