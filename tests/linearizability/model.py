"""A sequential model of a few fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from .checker import NEVER, contradiction

Members: TypeAlias = Mapping[str, Any]
"""Some members of a field, by their names; version 0 is a field that does not exist.

A version is the millisecond of the last change: the next one is later."""


class Kind(Enum):
    """The kinds of operations."""

    GET = "get"
    LIST = "list"
    PAGE = "page"
    CREATE = "create"
    PATCH = "patch"
    PUT = "put"
    DELETE = "delete"


class Result(Enum):
    """The kinds of outcomes."""

    SHOWN = "shown"
    LISTED = "listed"
    CREATED = "created"
    DELETED = "deleted"
    ABSENT = "absent"
    TAKEN = "taken"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"


READS = {Kind.GET, Kind.LIST, Kind.PAGE}


@frozen
class Operation:
    """An operation on the field of that key, or on the whole list (no key).

    `match` is a version tag that the field must have, `vacant` requires that there is no field.
    """

    kind: Kind
    key: str = ""
    members: Members = field(factory=dict)
    match: str | None = None
    vacant: bool = False


@frozen
class Outcome:
    """The outcome: what the response shows of the field, or of each field and of the catalog.

    `tag` is the version tag that the caller may expect of the field from now on.
    """

    result: Result
    members: Members = field(factory=dict)
    fields: Mapping[str, Members] = field(factory=dict)
    revision: int = 0
    tag: str | None = None


@frozen
class Call:
    """An operation with its outcome, and the times of its invocation and its return."""

    operation: Operation
    outcome: Outcome
    invoked: float
    returned: float = NEVER

    def about(self, key: str) -> Call | None:
        """Return the part of the call that concerns that key."""
        if self.outcome.result is not Result.LISTED:
            return self if self.operation.key == key else None
        members = self.outcome.fields.get(key)
        if members is None:
            return evolve(self, outcome=Outcome(Result.ABSENT))
        return evolve(self, outcome=Outcome(Result.SHOWN, members))


@frozen(kw_only=True)
class Field:
    """The field of one key.

    `id` and `version` are None until they are shown. `last_id` and `last_version` were shown last.
    """

    id: int | None = None
    version: int | None = 0
    name: str = ""
    insertable: bool = True
    custom_insertion_code: str | None = None
    last_id: int = 0
    last_version: int = 0

    @property
    def exists(self) -> bool:
        return self.version != 0

    def with_members(self, members: Members) -> Field:
        changed = evolve(self, **members)
        return self if changed == self else evolve(changed, version=None)

    def meets(self, operation: Operation) -> bool:
        if operation.match is not None and (self.id, self.version) != parse_tag(operation.match):
            return False
        return not (operation.vacant and self.exists)

    def showing(self, members: Members) -> Field | None:
        """Return this field with what was shown; None if it contradicts what is known."""
        shown = self
        if self.exists and self.id is None and members.get("id", 0) > self.last_id:
            shown = evolve(shown, id=members["id"], last_id=members["id"])
        if self.version is None and members.get("version", 0) > self.last_version:
            shown = evolve(shown, version=members["version"], last_version=members["version"])
        return shown if all(getattr(shown, m) == value for m, value in members.items()) else None


ABSENT = Field()
_DEFAULTS: Members = {"insertable": True, "custom_insertion_code": None}


def parse_tag(tag: str) -> tuple[int, int]:
    """Return the id and the version in a version tag."""
    field_id, version = tag.split("-")
    return int(field_id), int(version, 16)


def after(field: Field, call: Call) -> Field | None:
    """Return the field after the call; None if the outcome is impossible."""
    result, then = _apply(field, call.operation)
    if call.outcome.result is Result.UNKNOWN:
        return then
    return then.showing(call.outcome.members) if result is call.outcome.result else None


def _apply(field: Field, operation: Operation) -> tuple[Result, Field]:
    exists = field.exists
    if operation.kind in READS:
        return (Result.SHOWN if exists else Result.ABSENT), field
    if operation.kind is Kind.CREATE and exists:
        return Result.TAKEN, field
    if operation.kind in {Kind.PATCH, Kind.DELETE} and not exists:
        return Result.ABSENT, field
    if not field.meets(operation):
        return Result.CONFLICT, field
    vacancy = Field(last_id=field.last_id)
    if operation.kind is Kind.DELETE:
        return Result.DELETED, vacancy
    if not exists:
        return Result.CREATED, evolve(vacancy, **operation.members, version=None)
    replaced = _DEFAULTS if operation.kind is Kind.PUT else {}
    return Result.SHOWN, field.with_members({**replaced, **operation.members})


@frozen
class Catalog:
    """All fields, the revision that was last shown, and whether it has changed since."""

    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    revision: int = 0
    left: bool = True

    def after(self, call: Call) -> Catalog | None:
        """Return the catalog after the call; None if the outcome is impossible."""
        fields = tuple(each for each in self._fields_after(call) if each is not None)
        if len(fields) < len(self.fields):
            return None
        left = self.left or [_known(f) for f in fields] != [_known(f) for f in self.fields]
        if call.outcome.result is not Result.LISTED:
            return evolve(self, fields=fields, left=left)
        shown = call.outcome.revision
        if shown <= self.revision if self.left else shown != self.revision:
            return None
        return evolve(self, fields=fields, revision=shown, left=False)

    def _fields_after(self, call: Call) -> Iterator[Field | None]:
        for key, known in zip(self.keys, self.fields, strict=True):
            concerned = call.about(key)
            yield known if concerned is None else after(known, concerned)


def _known(field: Field) -> Field:
    """Return the field without what calls only learn of it."""
    return evolve(field, id=None, last_id=0, version=None if field.exists else 0, last_version=0)


def contradictions(history: Sequence[Call], keys: Iterable[str]) -> Sequence[Call]:
    """Return the contradiction in the history of a key, or else in that of the catalog."""
    keys = tuple(keys)
    for key in keys:
        concerned = [each for call in history if (each := call.about(key)) is not None]
        found = contradiction(concerned, ABSENT, after)
        if found:
            return found
    return contradiction(history, Catalog(keys, (ABSENT,) * len(keys)), Catalog.after)
