"""The counters in the row of an organization: those of its catalog, and those of its history.

A process of an earlier version changes the revision without some of them, and they are not known
then. It also stores records without their size.
"""

from __future__ import annotations

from datetime import datetime
from time import time_ns

from attrs import asdict, define

from recipient_fields.domain import (
    AppliedChanges,
    OrganizationId,
    OrganizationNotFound,
    Source,
    epoch_milliseconds,
    from_epoch_milliseconds,
)

from .changes import PlannedChanges
from .database import Connection, Row, Values, optional_instant, storable_id
from .statements import SQL


@define
class Counters:
    """The counters, in the order of `counter_columns`."""

    revision: int
    last_sequence: int
    last_change_at: int | None
    """In milliseconds since 1970."""
    api_field_count: int | None
    """The number of API-managed fields, or None if it is not known."""
    fields_size: int | None
    """The sum of the sizes of the fields, or None if it is not known."""
    record_bytes: int
    """The size of the records up to `sized_sequence`."""
    shared_value_bytes: int
    inherited_bytes: int
    """The size of the history when it was first counted."""
    sized_sequence: int

    @classmethod
    def of(cls, row: Row | None) -> Counters:
        """Return the counters in a row. Raises: OrganizationNotFound if there is no row."""
        if row is None:
            raise OrganizationNotFound
        return cls(*row)

    @property
    def records_are_sized(self) -> bool:
        """Whether `record_bytes` is the size of all records."""
        return self.sized_sequence == self.last_sequence

    @property
    def history_bytes(self) -> int:
        """The size of the history."""
        return self.record_bytes + self.shared_value_bytes

    def advance(self) -> None:
        """Increase the revision, at least to the current time in milliseconds.

        A failover or a restored backup can lose revisions that clients have seen, and these must
        not be reused.
        """
        self.revision = max(self.revision + 1, time_ns() // 1_000_000)

    def apply(self, planned: PlannedChanges, applied: AppliedChanges, at: datetime) -> datetime:
        """Count changes that are made at this time, and return the time of their records."""
        self.advance()
        if self.api_field_count is not None:
            self.api_field_count += planned.added(Source.API)
        if self.fields_size is not None:
            self.fields_size += applied.added_size()
        if self.records_are_sized:
            self.record_bytes += planned.bytes
            self.sized_sequence += len(planned.records)
        self.last_sequence += len(planned.records)
        occurred_at = epoch_milliseconds(planned.changes.recorded_at(at))
        if self.last_change_at is not None:
            occurred_at = max(occurred_at, self.last_change_at + 1)
        self.last_change_at = occurred_at
        return from_epoch_milliseconds(occurred_at)

    def count_records(self, size: int, last_sequence: int) -> None:
        """Add the size of older records, up to this one, to that of the history."""
        if self.sized_sequence == 0:
            self.inherited_bytes = size + self.shared_value_bytes
        self.record_bytes += size
        self.sized_sequence = last_sequence

    def values(self, organization_id: OrganizationId) -> Values:
        """Return the values of `store_counters`, for a catalog that is locked."""
        last_change_at = optional_instant(self.last_change_at)
        ids = {"organization_id": storable_id(organization_id)}
        return {**asdict(self), **ids, "last_change_at": last_change_at}


def read_counters(connection: Connection, organization_id: OrganizationId) -> Counters:
    """Return the counters. Raises: OrganizationNotFound if the organization does not exist."""
    values = {"organization_id": storable_id(organization_id)}
    return Counters.of(connection.one(SQL.select_counters, values))
