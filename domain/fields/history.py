"""The history of an organization's fields: one record for each change of a field.

`HistoryQuery.select` and `undo` define the results for every storage. A storage with a query
language must return the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import cached_property
from itertools import takewhile
from typing import Generic, TypeVar, cast

from attrs import Factory, asdict, evolve, field, frozen
from attrs.converters import optional

from ..arguments import require_type
from ..errors import Rule
from ..identity import FieldId, OrganizationId
from ..instants import whole_milliseconds
from ..text import replace_unstorable
from .errors import BeforeHistory
from .field import FieldDefinition, FieldReference, RecipientField
from .member_changes import MemberChange, changed_members
from .origins import Channel, Source
from .query_members import (
    among,
    enum_members,
    invalid_member,
    of_type,
    possible_ids,
    possible_keys,
    require_member_type,
    require_safe_integer,
    to_sources,
)
from .sizes import size_difference
from .values import FieldKey

__all__ = [
    "MAX_HISTORY_PAGE",
    "Author",
    "Change",
    "HistoryLimit",
    "HistoryPage",
    "HistoryQuery",
    "HistoryRecord",
    "HistorySize",
    "OldRecord",
    "RecordedOperation",
    "records_before",
    "records_to_free",
    "undo",
]

T = TypeVar("T", covariant=True)

MAX_HISTORY_PAGE = 1_000
"""The maximum number of records on a page of the history."""


class RecordedOperation(Enum):
    """What a change did to a field. The values are the names in documents and columns."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    RESTORED = "restored"


def _channel(channel: Channel) -> Channel:
    if not isinstance(channel, Channel):
        require_type(Channel, channel=channel)
    return channel


def _storable_text(text: str | None) -> str | None:
    return replace_unstorable(text) if isinstance(text, str) else text


def _storable_id(author_id: int | str | None) -> int | str | None:
    return replace_unstorable(author_id) if isinstance(author_id, str) else author_id


@frozen
class Author:
    """The author of a change: the channel, and the API key, administrator or integration.

    `id` is the id of an API key, of an administrator or of the channel's integration, or the
    identifier that another key validator uses. `name` is the displayed form of the key, the email
    address of the administrator or the name of the integration. An author contains no secret.

    Raises: ValueError if the id is not that of the channel's integration.
    """

    channel: Channel = field(converter=_channel)
    id: int | str | None = field(
        converter=_storable_id,
        default=Factory(lambda self: self.channel.integration_id, takes_self=True),
        kw_only=True,
    )
    name: str | None = field(converter=_storable_text, default=None, kw_only=True)
    request_id: str | None = field(converter=_storable_text, default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_type(int | str | None, id=self.id)
        require_type(str | None, name=self.name, request_id=self.request_id)
        if self.channel.integration_id not in {None, self.id}:
            raise ValueError("the author of a sync has the id of its integration")


@frozen
class Change(Generic[T]):
    """A change of one field, or of the name of one field at an integration: before and after it.

    `before` is None if the change creates or restores it, `after` if it deletes it. `after` is a
    FieldDefinition if the change creates a field that is not stored yet.

    Raises: ValueError if one of them contradicts the operation.
    """

    operation: RecordedOperation
    before: T | None
    after: T | None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.operation, RecordedOperation):
            require_type(RecordedOperation, operation=self.operation)
        if (self.before is not None, self.after is not None) != _HAS_STATES[self.operation]:
            raise ValueError(f"{self.operation.value}: wrong states of the field")

    @classmethod
    def between(cls, before: T | None, after: T | None) -> Change[T]:
        """Return the change that creates, updates or deletes what differs. One is not None."""
        if before is None:
            return Change(RecordedOperation.CREATED, None, after)
        operation = RecordedOperation.DELETED if after is None else RecordedOperation.UPDATED
        return Change(operation, before, after)

    @property
    def field(self) -> T:
        """What the change has changed: after it, or before it if it was deleted."""
        # Not None, because __attrs_post_init__ has checked the states.
        return cast(T, self.before if self.after is None else self.after)

    @property
    def states(self) -> tuple[T, T]:
        """The field before and after an update."""
        return cast("tuple[T, T]", (self.before, self.after))

    @property
    def member_changes(self: Change[RecipientField]) -> tuple[MemberChange, ...]:
        """The members that differ, in a fixed order."""
        return changed_members(self.before, self.after)

    @cached_property
    def added_size(self: Change[FieldDefinition]) -> int:
        """The bytes that the change adds to the list of the fields. It can be negative.

        The digits of an id that is not assigned yet are not counted.
        """
        if self.before is not None and self.after is not None:
            return size_difference(self.before, self.after)
        field: FieldDefinition = self.field
        size = field.size if isinstance(field, RecipientField) else field.size_without_id
        return size if self.before is None else -size

    @property
    def organization_id(self: Change[RecipientField]) -> OrganizationId:
        """The id of the field's organization."""
        return self.field.organization_id

    @property
    def field_id(self: Change[RecipientField]) -> FieldId:
        """The id of the field."""
        return self.field.id

    @property
    def key(self: Change[FieldDefinition]) -> FieldKey:
        """The key of the field, which no change can change."""
        return self.field.key

    def with_sequence(
        self: Change[RecipientField], sequence: int, *, occurred_at: datetime, author: Author
    ) -> HistoryRecord:
        """Return the record to store under the sequence number that the storage assigns."""
        return HistoryRecord(
            **asdict(self, recurse=False),
            sequence=sequence,
            occurred_at=occurred_at,
            author=author,
        )


@frozen
class HistoryRecord(Change[RecipientField]):
    """A stored record of a change.

    `sequence` is 1 for an organization's first record, and greater by 1 for each further record.
    The records of one transaction have the same `occurred_at`. It is later than that of every
    earlier transaction of the organization.
    """

    sequence: int = field(kw_only=True)
    occurred_at: datetime = field(converter=whole_milliseconds, kw_only=True)
    author: Author = field(kw_only=True)


@frozen
class HistorySize:
    """The size of an organization's history.

    `bytes` is the sum of the stored documents of all records, in UTF-8. A value of more than 1,024
    characters counts once, regardless of the number of documents that contain it. `inherited` is
    the size when the history was first counted: 0, unless an earlier version or another storage
    has recorded it.
    """

    bytes: int
    inherited: int = 0


@frozen
class HistoryLimit:
    """The maximum size of each organization's history, in bytes.

    If `keeps_inherited` is true, a history that was larger when it was first counted has no limit.
    """

    bytes: int
    keeps_inherited: bool = True

    def target(self, size: HistorySize) -> int | None:
        """Return the bytes to which a history of this size is reduced, or None if it is not.

        A tenth of the limit is free then, so that not every change exceeds the limit again.
        """
        if size.bytes <= self.bytes or (self.keeps_inherited and size.inherited > self.bytes):
            return None
        return self.bytes - self.bytes // 10


@frozen
class OldRecord:
    """One of the oldest records of a history, and the bytes that its removal frees.

    These include the shared values that no later record uses.
    """

    sequence: int
    occurred_at: datetime
    bytes: int


def records_to_free(oldest: Iterable[OldRecord], excess: int) -> Iterator[OldRecord]:
    """Yield the first of the oldest records whose removal frees `excess` bytes, or all of them."""
    require_type(Iterable, oldest=oldest)
    for record in oldest:
        if excess <= 0:
            return
        yield record
        excess -= record.bytes


def records_before(oldest: Iterable[OldRecord], before: datetime) -> Iterator[OldRecord]:
    """Yield those of the oldest records that occurred before this time."""
    require_type(Iterable, oldest=oldest)
    return takewhile(lambda record: record.occurred_at < before, oldest)


def undo(
    records: Iterable[HistoryRecord], fields: Iterable[RecipientField]
) -> tuple[RecipientField, ...]:
    """Return the fields as they were before the changes in these records, by ascending id.

    `fields` are all fields of the organization now. `records` contains at least the first record of
    each field that was changed since, in any order.
    """
    require_type(Iterable, records=records, fields=fields)
    by_id = {each.id: each for each in fields}
    for record in sorted(records, key=lambda each: each.sequence, reverse=True):
        if record.before is None:
            by_id.pop(record.field_id, None)
        else:
            by_id[record.field_id] = record.before
    return tuple(by_id[field_id] for field_id in sorted(by_id))


def _sequence(value: int) -> int:
    return require_safe_integer(value, "after")


def _limit(value: int) -> int:
    if 1 <= require_member_type(int, value, "limit") <= MAX_HISTORY_PAGE:
        return value
    message = f"The limit must be between 1 and {MAX_HISTORY_PAGE:,}."
    raise invalid_member(Rule.OUT_OF_RANGE, message, "limit")


def _field_ids(values: Iterable[FieldId]) -> frozenset[FieldId]:
    return frozenset(map(FieldId, possible_ids(values, "field_ids")))


def _operations(values: Iterable[RecordedOperation | str]) -> frozenset[RecordedOperation]:
    return enum_members(RecordedOperation, values, "operations")


@frozen(kw_only=True)
class HistoryQuery:
    """A query: which records of the history, in which order, and how many of them.

    Records are ordered by ascending sequence, from the first one with a greater sequence than
    `after`. If `descending` is true, the order is reversed, and the sequences are less than
    `after`.

    A filter that is None matches every record; otherwise the field of a record must have one of
    its values, so an empty filter matches none. Sources and operations can be given by name. Ids
    and keys that no field can have are valid and match nothing; the query omits them.

    Raises: InvalidQuery if a member has the wrong type, a name is unknown, or `limit` is not
    between 1 and 1,000.
    """

    field_ids: frozenset[FieldId] | None = field(converter=optional(_field_ids), default=None)
    keys: frozenset[FieldKey] | None = field(converter=optional(possible_keys), default=None)
    sources: frozenset[Source] | None = field(converter=optional(to_sources), default=None)
    operations: frozenset[RecordedOperation] | None = field(
        converter=optional(_operations), default=None
    )
    descending: bool = field(validator=of_type(bool), default=False)
    limit: int = field(converter=_limit, default=100)
    after: int | None = field(converter=optional(_sequence), default=None)

    def of_field(self, reference: FieldReference) -> HistoryQuery:
        """Return this query for the field with this id, or for all fields with this key."""
        if isinstance(reference, str):
            return evolve(self, keys=[reference])
        return evolve(self, field_ids=[reference])

    def matches(self, record: HistoryRecord) -> bool:
        """Return whether the record matches every filter."""
        return (
            among(record.field_id, self.field_ids)
            and among(record.key, self.keys)
            and among(record.field.origin.source, self.sources)
            and among(record.operation, self.operations)
        )

    def starts_before(self, record: HistoryRecord) -> bool:
        """Return whether the page starts before the record."""
        if self.after is None:
            return True
        return record.sequence != self.after and (record.sequence < self.after) is self.descending

    @property
    def requires_later_records(self) -> bool:
        """Whether the page must not omit records after its start: a reader follows the history."""
        return self.after is not None and not self.descending

    def require_recorded(self, removed: int) -> None:
        """Check that the history still has every record after the start of the page.

        `removed` is the number of removed records, which are the oldest ones. Their sequences are 1
        to this number.

        Raises: BeforeHistory if a record with a greater sequence than `after` was removed.
        """
        if self.requires_later_records and max(cast(int, self.after), 0) < removed:
            raise BeforeHistory(
                f"The records up to {removed} were removed from the history, so a reader that"
                f" continues after {self.after} would miss some. List the current fields, and"
                f" continue after {removed}."
            )

    def select(self, records: Iterable[HistoryRecord], removed: int = 0) -> HistoryPage:
        """Return the page that this query describes, of all records of an organization.

        `removed` is the number of records that were removed before them.

        Raises: the error of `require_recorded`.
        """
        self.require_recorded(removed)
        remaining = [each for each in records if self.matches(each) and self.starts_before(each)]
        remaining.sort(key=lambda each: each.sequence, reverse=self.descending)
        return self.page(remaining)

    def page(self, remaining: list[HistoryRecord]) -> HistoryPage:
        """Return the page that starts with the first of the `remaining` records.

        `remaining` contains the ordered matches after `after`: all of them, or at least one more
        than `limit`, which shows that another page follows.
        """
        records = tuple(remaining[: self.limit])
        has_more = len(remaining) > len(records)
        return HistoryPage(records, records[-1].sequence if has_more else None)


@frozen
class HistoryPage:
    """A page of an organization's history.

    `next` is the value of `after` for the next page, or None on the last page.
    """

    records: tuple[HistoryRecord, ...]
    next: int | None


_HAS_STATES: Mapping[RecordedOperation, tuple[bool, bool]] = {
    RecordedOperation.CREATED: (False, True),
    RecordedOperation.UPDATED: (True, True),
    RecordedOperation.DELETED: (True, False),
    RecordedOperation.RESTORED: (False, True),
}
"""Whether a record of each operation has the field before and after the change."""
