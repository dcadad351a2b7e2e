"""The whole content of a storage at one moment, for a copy to another storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Generic, TypeVar

from attrs import frozen

from recipient_fields.domain import (
    Administrator,
    ApiKey,
    HistoryRecord,
    Organization,
    RecipientField,
)
from recipient_fields.domain.esp import Integration

__all__ = ["OrganizationRecord", "Records", "Snapshot"]

T = TypeVar("T")


@frozen
class OrganizationRecord:
    """An organization, the revision of its catalog, and the end of its history.

    `last_sequence` and `last_change_at` are the sequence and the time of the last record, even if
    it has been pruned; 0 and None if there was none.
    """

    organization: Organization
    revision: int
    last_sequence: int = 0
    last_change_at: datetime | None = None


@frozen
class Records(Generic[T]):
    """All records of one kind, in any order. They can be iterated over once."""

    count: int
    """The number of records."""
    last_id: int
    """The greatest id that the storage has assigned, including deleted records; 0 if none.

    Also 0 for the history, whose records have no ids.
    """
    _records: Iterable[T]

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)


@frozen(kw_only=True)
class Snapshot:
    """The content of a storage at one moment. Without an optional group, it has no such records.

    It has no sessions, links and invitations of administrators. Iterate over the records while the
    snapshot is open: a storage may read them only then.
    """

    organizations: Records[OrganizationRecord]
    fields: Records[RecipientField]
    history: Records[HistoryRecord] = Records(0, 0, ())
    api_keys: Records[ApiKey] = Records(0, 0, ())
    integrations: Records[Integration] = Records(0, 0, ())
    administrators: Records[Administrator] = Records(0, 0, ())
