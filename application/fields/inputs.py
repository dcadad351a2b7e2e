"""The members of fields in documents: parse them into the inputs of use cases, and render these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import Factory, frozen
from cattrs import BaseValidationError, Converter
from cattrs.gen import make_dict_structure_fn, override

from recipient_fields.domain import (
    API,
    FIELD_MEMBERS,
    IMMUTABLE_MEMBERS,
    READ_ONLY_MEMBERS,
    UNCHANGED,
    WRITABLE_MEMBERS,
    AllowedValues,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldName,
    InvalidField,
    RecipientField,
    Rule,
    Violation,
    Violations,
    character_violation,
    immutable_violation,
    item_count_violation,
)

from ..documents.conversion import (
    InvalidDocument,
    bad_characters,
    converter,
    unknown_members,
    violations_of,
)
from .documents import render_field

T = TypeVar("T")

_ENVELOPE = "recipient_field"
_MEMBERS = tuple(each.name for each in FIELD_MEMBERS)
_SETTABLE = (*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS)
"""The members that a request can set, in the order in which a response lists their violations."""
_REQUIRED = ("name", "data_type")
"""The members that a new field and a replacement must have."""
_DEFAULTS = {
    each.name: each.default
    for each in FIELD_MEMBERS
    if each.name in WRITABLE_MEMBERS and each.name not in _REQUIRED
}
"""The values of writable members that a replacement omits."""
_API_ORIGIN: Mapping[str, object] = {
    "source": API.source.value,
    "integration_id": None,
    "esp_field_name": None,
}
"""The read-only members that a field has before it is stored, if it is created through the API."""


@frozen(kw_only=True)
class SentChanges(FieldChanges):
    """Changes from a body, which can repeat the members that it does not change.

    `repeated` contains these members as they were sent. Each must equal what a response would show.
    """

    repeated: Mapping[str, object] = Factory(dict)

    def contradictions(self, stored: RecipientField) -> Iterable[Violation]:
        """Return a violation for each repeated member that differs from the stored one."""
        shown = {**render_field(stored), "key": str(stored.key)}
        return _differences(self.repeated, {name: shown[name] for name in _NOT_WRITABLE})


@frozen
class SentReplacement:
    """A replacement from a body, whose data type is one of the repeated members."""

    _changes: SentChanges

    def changes(self) -> SentChanges:
        """Return the changes to an existing field, whose data type is compared as it was sent."""
        return self._changes

    def draft(self, key: FieldKey | str) -> FieldDraft:
        """Return the draft that creates the field.

        Raises: InvalidField, with all violations, if the data type or the allowed values are
        invalid, or if a repeated member differs from that of the new field.
        """
        repeated = dict(self._changes.repeated)
        data_type = repeated.pop("data_type")
        violations = Violations(_differences(repeated, {"key": str(key), **_API_ORIGIN}))
        draft = None
        with violations.collect("data_type"):
            data_type = DataType.parse(data_type)
        if isinstance(data_type, DataType):
            members = {name: getattr(self._changes, name) for name in WRITABLE_MEMBERS}
            with violations.collect():
                draft = FieldDraft(**members, key=key, data_type=data_type)
        if violations or draft is None:
            raise InvalidField(violations)
        return draft


def parse_envelope(
    document: object, parse: Callable[[object], T], *, path_key: str | None = None
) -> T:
    """Return what `parse` returns for the members in the document `{"recipient_field": …}`.

    `path_key` is the key of the field in the path, which is checked here if `parse` gets no
    members to compare with it. Raises: InvalidDocument with the violations of the envelope, and
    those that `parse` raises.
    """
    is_object = isinstance(document, dict)
    envelope: Any = document if is_object else {}
    others = {name: each for name, each in envelope.items() if name != _ENVELOPE}
    found = others if is_object else document
    violations = bad_characters(found)
    violations += unknown_members(_storable(others), {_ENVELOPE})
    value = None
    if not is_object:
        violations.append(Violation(Rule.TYPE, "Send a JSON object."))
    elif _ENVELOPE not in envelope:
        message = "Send the field's members in this object."
        violations.append(Violation(Rule.REQUIRED, message, (_ENVELOPE,)))
    else:
        with violations.collect(_ENVELOPE):
            value = parse(envelope[_ENVELOPE])
    if _ENVELOPE not in envelope and path_key is not None:
        with violations.collect(_ENVELOPE, "key"):
            FieldKey(path_key)
    if value is None or violations:
        raise InvalidDocument(_unknown_last(violations))
    return value


def parse_draft(members: object, *, repeatable: Mapping[str, object] | None = None) -> FieldDraft:
    """Return the field that the members define.

    `repeatable` are the read-only members that a document can repeat, with the values that the new
    field will have. Raises: InvalidDocument with all violations.
    """
    parsed = _Members(members, _SETTABLE, required=_REQUIRED)
    draft = parsed.structure(FieldDraft)
    if draft is None:
        parsed.check_allowed_values(is_new=True)
        if "key" not in parsed.members and parsed.has_valid("name"):
            with parsed.violations.collect("key"):
                FieldKey.derived_from(FieldName(parsed.members["name"]))
    parsed.violations += _differences(parsed.repeated, repeatable or {})
    return parsed.require_valid(draft)


def parse_new_field(members: object) -> FieldDraft:
    """Return the field that a request to the API creates. Raises: InvalidDocument."""
    return parse_draft(members, repeatable=_API_ORIGIN)


def parse_changes(members: object) -> FieldChanges:
    """Return the changes that the members of a PATCH request. Raises: InvalidDocument."""
    parsed = _Members(members, WRITABLE_MEMBERS)
    repeated = parsed.repeated
    if not repeated:
        return parsed.require_valid(parsed.structure(FieldChanges))
    return parsed.require_valid(parsed.structure(SentChanges, repeated=repeated))


def parse_replacement(
    members: object, key: str | None, *, is_alone: bool = True
) -> SentReplacement:
    """Return the replacement that the members of a PUT request, by this key or, if None, by id.

    The data type is checked here only if another member is invalid, or if the members are not
    alone in the body, which is invalid then. Otherwise, it is compared with that of the stored
    field, or checked for a new one. Raises: InvalidDocument.
    """
    parsed = _Members(members, WRITABLE_MEMBERS, required=_REQUIRED)
    if key is not None:
        parsed.check_path_key(key)
    # A response lists the violation of the data type after those of the other repeated members.
    repeated = dict(sorted(parsed.repeated.items(), key=lambda member: member[0] == "data_type"))
    changes = parsed.structure(SentChanges, **_DEFAULTS, repeated=repeated)
    if (parsed.violations or not is_alone) and parsed.has_valid("data_type"):
        with parsed.violations.collect("data_type"):
            DataType.parse(parsed.members["data_type"])
        parsed.check_allowed_values()
    return SentReplacement(parsed.require_valid(changes))


def render_input(values: FieldDraft | FieldChanges) -> dict[str, object]:
    """Return the document that sets these values. It has no member that is UNCHANGED."""
    members = {name: getattr(values, name, UNCHANGED) for name in _SETTABLE}
    if isinstance(values, SentChanges):
        members = {**members, **values.repeated}
    return {
        _ENVELOPE: {
            name: _render_value(value) for name, value in members.items() if value is not UNCHANGED
        }
    }


class _Members:
    """The members of a field in a document, and all their violations.

    `settable` are the members that the input has. The others can only repeat what is stored.
    """

    def __init__(
        self, members: object, settable: Collection[str], *, required: Collection[str] = ()
    ) -> None:
        self.violations = bad_characters(members)
        self._bad_texts = {violation.path for violation in self.violations}
        self._settable = settable
        self.members: dict[str, Any] = {}
        if not isinstance(members, dict):
            self.violations.append(Violation(Rule.TYPE, "This must be an object."))
            return
        self.members = dict(members)
        names = _storable(members) if self.violations else members  # which takes time
        self.violations += unknown_members(names, _MEMBERS)
        self.violations += [
            Violation(Rule.REQUIRED, "Add this member.", (name,))
            for name in required
            if name not in members
        ]

    @property
    def repeated(self) -> dict[str, object]:
        """The members that this input can't set, as they were sent."""
        names = self.members.keys() & {name for name in _MEMBERS if name not in self._settable}
        # A document can have many members, but seldom one of these.
        return {name: each for name, each in self.members.items() if name in names} if names else {}

    def structure(self, kind: type[T], **others: object) -> T | None:
        """Return an object of this class with the members that can be set, and with `others`.

        If they break a rule, collect the violations and return None.
        """
        members = {name: self.members[name] for name in self._settable if name in self.members}
        try:
            return converter.structure({**others, **members}, kind)
        except BaseValidationError as error:
            violations = [v for v in violations_of(error) if v.path[0] in self.members]
            violations.sort(key=lambda violation: _SETTABLE.index(str(violation.path[0])))
            self.violations += [v for v in violations if v.path not in self._bad_texts]
            return None

    def check_allowed_values(self, *, is_new: bool = False) -> None:
        """Check the allowed values against the data type, if both have no violation so far."""
        if not self.has_valid("data_type", "allowed_values"):
            return
        if self.members["allowed_values"] is None:
            return
        with self.violations.collect("allowed_values"):
            data_type = DataType.parse(self.members["data_type"])
            values = AllowedValues(data_type, self.members["allowed_values"])
            if is_new:
                values.require_size()

    def has_valid(self, *names: str) -> bool:
        """Return whether the document has these members, without a violation so far."""
        if not self.members.keys() >= {*names}:
            return False
        invalid = {violation.path for violation in self.violations}
        return all((name,) not in invalid for name in names)

    def check_path_key(self, key: str) -> None:
        """Check the key of the path, and that the document has no other one."""
        with self.violations.collect("key"):
            FieldKey(key)
        if self.members.pop("key", key) != key:
            message = "This key differs from the one in the path. Leave it out."
            self.violations.append(Violation(Rule.MISMATCH, message, ("key",)))

    def require_valid(self, value: T | None) -> T:
        """Return the value. Raises: InvalidDocument if there is any violation."""
        if value is not None and not self.violations:
            return value
        unique = {(violation.path, violation.rule): violation for violation in self.violations}
        raise InvalidDocument(_unknown_last(unique.values()))


def _storable(names: Iterable[str]) -> list[str]:
    """Return the names without bad characters. `bad_characters` reports the others."""
    return [name for name in names if character_violation(name) is None]


def _unknown_last(violations: Iterable[Violation]) -> list[Violation]:
    """Return the violations in an order for responses, which have room for a limited number."""
    return sorted(violations, key=lambda violation: violation.rule is Rule.UNKNOWN_FIELD)


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


def _differences(sent: Mapping[str, object], stored: Mapping[str, object]) -> list[Violation]:
    """Return a violation for each repeated member whose value differs from the stored value."""
    return [
        immutable_violation(member) if member in IMMUTABLE_MEMBERS else _READ_ONLY.prefixed(member)
        for member, value in sent.items()
        if member not in stored or not _same(value, stored[member])
    ]


def _same(one: object, other: object) -> bool:
    """Compare the values and their types: 1 is neither 1.0 nor True."""
    return type(one) is type(other) and one == other


_NOT_WRITABLE = (*IMMUTABLE_MEMBERS, *READ_ONLY_MEMBERS)
_READ_ONLY = Violation(
    Rule.READ_ONLY, "This member can't be set. Leave it out, or send what is stored."
)


def _request_hook(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    overrides: dict[str, Any] = {
        "allowed_values": override(struct_hook=_allowed_values),
        "esp_field_name": override(omit=True),
        "repeated": override(struct_hook=lambda members, _kind: members),
    }
    if kind is not FieldDraft:
        overrides["data_type"] = override(omit=True)
    return make_dict_structure_fn(kind, converter, **overrides)


converter.register_structure_hook_factory(
    lambda kind: kind in (FieldDraft, FieldChanges, SentChanges), _request_hook
)
