"""The documents of the API: parse request bodies, and render fields and their history.

HTTP contract, sections 2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any, ClassVar, TypeVar

from attrs import NOTHING, asdict, evolve, field, fields_dict, frozen
from cattrs import BaseValidationError, Converter
from cattrs.gen import make_dict_structure_fn, override

from recipient_fields.domain import (
    API,
    FIELD_MEMBERS,
    IMMUTABLE_MEMBERS,
    ORIGIN_MEMBERS,
    UNCHANGED,
    WRITABLE_MEMBERS,
    AllowedValues,
    Author,
    Channel,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    FieldReplacement,
    HistoryRecord,
    InsertionCode,
    IntegrationId,
    InvalidField,
    OrganizationId,
    Origin,
    RecipientField,
    RecordedOperation,
    Rule,
    Source,
    ValueExpression,
    Violation,
    Violations,
    character_violation,
    format_instant,
    item_count_violation,
    read_only_violations,
    sync_channel,
)
from recipient_fields.domain.esp import EspField, Integration, SyncPlan

from ..documents.conversion import (
    MAX_VIOLATIONS,
    InvalidDocument,
    converter,
    parse_document,
    unknown_members,
    violations_of,
)
from ..documents.schemas import Schema, described
from ..documents.value_schemas import ID, STORED_FIELD

__all__ = ["ActorDocument", "FieldDocument", "HistoryRecordDocument", "render_field"]

T = TypeVar("T")

_ENVELOPE = "recipient_field"
_SETTABLE = (*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS)
"""The members that a request can set, in the order in which a response lists their violations."""


@frozen(kw_only=True)
class FieldDocument:
    """A recipient field with all its members. Tolerate additional ones."""

    schema_name: ClassVar[str] = "RecipientField"
    schema: ClassVar[Schema] = STORED_FIELD

    id: FieldId
    name: FieldName
    key: FieldKey
    data_type: DataType
    allowed_values: list[object] | None
    insertable: bool
    source: Source
    integration_id: IntegrationId | None
    esp_field_name: str | None
    custom_insertion_code: InsertionCode | None
    custom_value_expression: ValueExpression | None
    created_at: datetime
    updated_at: datetime

    def to_field(self, organization_id: OrganizationId) -> RecipientField:
        """Return the field. Its `version` is 0: responses do not contain it.

        Raises: InvalidField if members contradict each other.
        """
        members = asdict(self, recurse=False)
        if self.allowed_values is not None:
            members["allowed_values"] = AllowedValues(self.data_type, self.allowed_values)
        origin = Origin(*map(members.pop, ORIGIN_MEMBERS))
        return RecipientField(**members, origin=origin, organization_id=organization_id, version=0)


_MEMBERS = tuple(each.name for each in FIELD_MEMBERS)


@frozen(kw_only=True)
class ActorDocument:
    """The author of the change."""

    channel: Source = field(metadata=described("How the change was made."))
    id: int | str | None = field(
        metadata=described("The id of the API key, the administrator or the integration.")
    )
    name: str | None = field(
        metadata=described(
            "The displayed form of the API key, the administrator's email address, or the name of"
            " the integration. Never a key."
        )
    )

    def to_author(self, request_id: str | None) -> Author:
        """Return the author."""
        channel = Channel(self.channel)
        if self.channel is Source.INTEGRATION and isinstance(self.id, int):
            channel = sync_channel(IntegrationId(self.id))
        return Author(channel, id=self.id, name=self.name, request_id=request_id)


@frozen(kw_only=True)
class HistoryRecordDocument:
    """A change of a field. Tolerate additional members."""

    sequence: int = field(
        metadata=described(
            "The number of the record: 1 for the first of the organization, no gaps.", ID
        )
    )
    occurred_at: datetime = field(
        metadata=described("Later for each transaction; the same for all its records.")
    )
    operation: RecordedOperation
    actor: ActorDocument
    request_id: str | None = field(
        metadata=described("The `X-Request-Id` of the request that made the change.")
    )
    field_id: FieldId
    key: FieldKey
    before: FieldDocument | None = field(
        metadata=described("The field before the change. null if it was created or restored.")
    )
    after: FieldDocument | None = field(
        metadata=described("The field after the change. null if it was deleted.")
    )

    def to_record(self, organization_id: OrganizationId) -> HistoryRecord:
        """Return the record. The `version` of its fields is 0: responses do not contain it.

        Raises: InvalidField or ValueError if members contradict each other.
        """
        record = HistoryRecord(
            self.operation,
            None if self.before is None else self.before.to_field(organization_id),
            None if self.after is None else self.after.to_field(organization_id),
            sequence=self.sequence,
            occurred_at=self.occurred_at,
            author=self.actor.to_author(self.request_id),
        )
        if (record.field_id, record.key) != (self.field_id, self.key):
            raise ValueError("the id or the key is not that of the field")
        return record


@frozen
class FieldEnvelopeDocument:
    """The response with one field."""

    schema_name: ClassVar[str] = "RecipientFieldEnvelope"

    recipient_field: FieldDocument


@frozen
class FieldListDocument:
    """The response with a page of fields."""

    schema_name: ClassVar[str] = "RecipientFieldList"

    recipient_fields: list[FieldDocument]


@frozen
class HistoryRecordListDocument:
    """The response with a page of the history."""

    recipient_field_changes: list[HistoryRecordDocument]


@frozen
class FieldDraftEnvelopeDocument:
    """The request that creates a field."""

    schema_name: ClassVar[str] = "RecipientFieldDraftEnvelope"

    recipient_field: FieldDraft


@frozen
class FieldChangesEnvelopeDocument:
    """The request that changes members of a field."""

    schema_name: ClassVar[str] = "RecipientFieldChangesEnvelope"

    recipient_field: FieldChanges


@frozen
class FieldReplacementEnvelopeDocument:
    """The request that replaces a field."""

    schema_name: ClassVar[str] = "RecipientFieldReplacementEnvelope"

    recipient_field: FieldReplacement


@frozen
class _Report:
    fields: list[EspField]


def parse_draft(document: object) -> FieldDraft:
    """Return the field that a POST requests. Raises: InvalidDocument."""
    body = _Body(document, FieldDraft)
    draft = body.structure(FieldDraft)
    with body.violations.collect(_ENVELOPE, "allowed_values"):
        allowed_values = body.allowed_values()
        if allowed_values is not None:
            allowed_values.require_size()
    if draft is None and "key" not in body.members and body.has_valid("name"):
        with body.violations.collect(_ENVELOPE, "key"):
            FieldKey.derived_from(FieldName(body.members["name"]))
    violations = read_only_violations(body.read_only_members, by=API)
    body.violations += [violation.prefixed(_ENVELOPE) for violation in violations]
    draft = body.require_valid(draft)
    return draft if allowed_values is None else evolve(draft, allowed_values=allowed_values)


def parse_changes(document: object) -> FieldChanges:
    """Return the changes that a PATCH requests. Raises: InvalidDocument."""
    body = _Body(document, FieldChanges)
    return body.require_valid(body.structure(FieldChanges))


def parse_replacement(document: object, key: str | None) -> FieldReplacement:
    """Return the field that a PUT requests, by this key or, if it is None, by id.

    The data type is checked here only if another member is invalid. Otherwise, the use case checks
    it against the stored field. Raises: InvalidDocument.
    """
    body = _Body(document, FieldReplacement)
    if key is not None:
        body.check_path_key(key)
    replacement = body.structure(FieldReplacement)
    if body.violations and body.has_valid("data_type"):
        with body.violations.collect(_ENVELOPE, "data_type"):
            DataType.parse(body.members["data_type"])
        body.allowed_values()
    return body.require_valid(replacement)


def parse_report(document: object) -> tuple[EspField, ...]:
    """Return the fields of `{"fields": [{"name", "data_type", "label", …}]}`.

    The members are those of EspField. Raises: InvalidDocument.
    """
    return tuple(parse_document(document, _Report).fields)


def render_input(values: FieldDraft | FieldChanges | FieldReplacement) -> dict[str, object]:
    """Return the request body that sets these values. It has no member that is UNCHANGED."""
    kind: type = type(values)
    members = {name: getattr(values, name) for name in _settable(kind)}
    if not isinstance(values, FieldDraft):
        members = {**values.read_only_members, **members}
    return {
        _ENVELOPE: {
            name: _render_value(value) for name, value in members.items() if value is not UNCHANGED
        }
    }


def render_field(field: RecipientField) -> dict[str, object]:
    """Return all members of a field."""
    # Explicit, because a loop over the members takes 1.4 times as long. Each response needs it.
    return {
        "id": field.id,
        "name": field.name,
        "key": field.key,
        "data_type": field.data_type.value,
        "allowed_values": None if field.allowed_values is None else field.allowed_values.values,
        "insertable": field.insertable,
        "source": field.origin.source.value,
        "integration_id": field.origin.integration_id,
        "esp_field_name": field.origin.esp_field_name,
        "custom_insertion_code": field.custom_insertion_code,
        "custom_value_expression": field.custom_value_expression,
        "created_at": format_instant(field.created_at),
        "updated_at": format_instant(field.updated_at),
    }


def render_fields(fields: Iterable[RecipientField]) -> dict[str, object]:
    """Return the document of a list, in the given order."""
    return {"recipient_fields": [render_field(field) for field in fields]}


def render_record(record: HistoryRecord) -> dict[str, object]:
    """Return the nine members of a record of the history."""
    author = record.author
    return {
        "sequence": record.sequence,
        "occurred_at": format_instant(record.occurred_at),
        "operation": record.operation.value,
        "actor": {"channel": author.channel.source.value, "id": author.id, "name": author.name},
        "request_id": author.request_id,
        "field_id": record.field_id,
        "key": record.key,
        "before": None if record.before is None else render_field(record.before),
        "after": None if record.after is None else render_field(record.after),
    }


def render_records(records: Iterable[HistoryRecord]) -> dict[str, object]:
    """Return the document of a page of the history, in the given order."""
    return {"recipient_field_changes": [render_record(record) for record in records]}


def render_integration(integration: Integration) -> dict[str, object]:
    """Return the six members of an integration."""
    synced = integration.last_synced_at
    return {
        "id": integration.id,
        "organization_id": integration.organization_id,
        "esp": integration.esp.value,
        "name": integration.name,
        "created_at": format_instant(integration.created_at),
        "last_synced_at": None if synced is None else format_instant(synced),
    }


def render_sync(plan: SyncPlan) -> dict[str, object]:
    """Return the keys of the fields that a sync run changes, and the ESP names it refuses."""
    return {
        "created": [field.key for field in plan.created],
        "updated": [field.key for field in plan.updated],
        "removed": [field.key for field in plan.removed],
        "unchanged": plan.unchanged,
        "refused": [{"name": field.name, "reason": field.reason} for field in plan.refused],
    }


class _Body:
    """A request body: the members of its `recipient_field` envelope, and all its violations."""

    def __init__(self, document: object, kind: type) -> None:
        self.violations = Violations(islice(bad_characters(document), MAX_VIOLATIONS))
        self._bad_texts = {violation.path for violation in self.violations}
        self._settable = _settable(kind)
        self.members = self._open(document, kind)

    @property
    def read_only_members(self) -> dict[str, object]:
        """The members that this request can't set, as they were sent."""
        return {
            name: value
            for name, value in self.members.items()
            if name in _MEMBERS and name not in self._settable
        }

    def structure(self, kind: type[T]) -> T | None:
        """Return an object of this class with the members that can be set.

        If they break a rule, collect the violations and return None.
        """
        members = {name: self.members[name] for name in self._settable if name in self.members}
        if kind is not FieldDraft:
            members["read_only_members"] = self.read_only_members
        try:
            return converter.structure(members, kind)
        except BaseValidationError as error:
            violations = [v.prefixed(_ENVELOPE) for v in violations_of(error)]
            violations.sort(key=lambda violation: _SETTABLE.index(str(violation.path[1])))
            self.violations += [
                violation
                for violation in violations
                if violation.path[1] in self.members and violation.path not in self._bad_texts
            ]
            return None

    def allowed_values(self) -> AllowedValues | None:
        """Return the allowed values, or None if they are null or don't fit a valid data type."""
        if not self.has_valid("data_type", "allowed_values"):
            return None
        if self.members["allowed_values"] is None:
            return None
        with self.violations.collect(_ENVELOPE, "allowed_values"):
            data_type = DataType.parse(self.members["data_type"])
            return AllowedValues(data_type, self.members["allowed_values"])
        return None

    def has_valid(self, *names: str) -> bool:
        """Return whether the body has these members, without a violation so far."""
        invalid = {violation.path for violation in self.violations}
        return all(name in self.members and (_ENVELOPE, name) not in invalid for name in names)

    def check_path_key(self, key: str) -> None:
        """Check the key of the path, and that the body has no other one."""
        with self.violations.collect(_ENVELOPE, "key"):
            FieldKey(key)
        if self.members.pop("key", key) != key:
            message = "This key differs from the one in the path. Leave it out."
            self.violations.append(Violation(Rule.MISMATCH, message, (_ENVELOPE, "key")))

    def require_valid(self, value: T | None) -> T:
        """Return the value. Raises: InvalidDocument if there is any violation."""
        if value is not None and not self.violations:
            return value
        unique = {(violation.path, violation.rule): violation for violation in self.violations}
        # Unknown members come last: a response has room for a limited number of violations.
        raise InvalidDocument(sorted(unique.values(), key=lambda v: v.rule is Rule.UNKNOWN_FIELD))

    def _open(self, document: object, kind: type) -> dict[str, Any]:
        if not isinstance(document, dict):
            self.violations.append(Violation(Rule.TYPE, "Send a JSON object."))
            return {}
        self.violations += unknown_members(_storable(document), {_ENVELOPE})
        if _ENVELOPE not in document:
            message = "Send the field's members in this object."
            self.violations.append(Violation(Rule.REQUIRED, message, (_ENVELOPE,)))
            return {}
        members = document[_ENVELOPE]
        if not isinstance(members, dict):
            self.violations.append(Violation(Rule.TYPE, "This must be an object.", (_ENVELOPE,)))
            return {}
        self.violations += unknown_members(_storable(members), _MEMBERS, _ENVELOPE)
        self.violations += [
            Violation(Rule.REQUIRED, "Add this member.", (_ENVELOPE, name))
            for name in _required(kind)
            if name not in members
        ]
        return dict(members)


def bad_characters(value: object, path: tuple[str | int, ...] = ()) -> Iterator[Violation]:
    """Yield a violation for each text that can't be stored.

    The names of an object share one violation, at the path of the object.
    """
    if isinstance(value, str):
        violation = character_violation(value)
        if violation is not None:
            yield violation.prefixed(*path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from bad_characters(item, (*path, index))
    elif isinstance(value, dict):
        violations = {name: character_violation(name) for name in value}
        bad = next(filter(None, violations.values()), None)
        if bad is not None:
            yield bad.prefixed(*path)
        for name, member in value.items():
            if violations[name] is None:
                yield from bad_characters(member, (*path, name))


def _storable(names: Iterable[str]) -> list[str]:
    """Return the names without bad characters. `bad_characters` reports the others."""
    return [name for name in names if character_violation(name) is None]


def _allowed_values(value: object, _kind: object) -> list[object] | None:
    """Return the values of a request, which may not fit the data type."""
    if value is None:
        return None
    if type(value) is not list:
        raise InvalidField([Violation(Rule.TYPE, "This must be an array or null.")])
    violation = item_count_violation(value)
    if violation is not None:
        raise InvalidField([violation])
    return value


def _render_value(value: object) -> object:
    match value:
        case DataType(value=name):
            return name
        case AllowedValues(values=values):
            return list(values)
        case Sequence() if not isinstance(value, str | bytes):
            return list(value)
    return value


@cache
def _settable(kind: type) -> Collection[str]:
    """Return the members of this class that a request can set."""
    return [name for name in _SETTABLE if name in fields_dict(kind)]


@cache
def _required(kind: type) -> Collection[str]:
    """Return the members of this class that a request must set."""
    return [name for name, each in fields_dict(kind).items() if each.default is NOTHING]


def _request_hook(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    overrides: dict[str, Any] = {
        "allowed_values": override(struct_hook=_allowed_values),
        "esp_field_name": override(omit=True),
        "read_only_members": override(struct_hook=lambda members, _kind: members),
    }
    return make_dict_structure_fn(kind, converter, **overrides)


converter.register_structure_hook_factory(
    lambda kind: kind in (FieldDraft, FieldChanges, FieldReplacement), _request_hook
)
