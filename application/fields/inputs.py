"""The members of fields in documents: parse them into the inputs of use cases, and render these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from recipient_fields.domain import (
    API,
    FIELD_MEMBERS,
    IMMUTABLE_MEMBERS,
    UNCHANGED,
    WRITABLE_MEMBERS,
    AllowedValues,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldMember,
    InvalidField,
    Rule,
    Violation,
    Violations,
    character_violation,
    item_count_violation,
    repeated_violations,
    require_boolean,
    require_string,
)

from ..documents.conversion import InvalidDocument, bad_characters, unknown_members

T = TypeVar("T")

_ENVELOPE = "recipient_field"
_MEMBERS = {each.name: each for each in FIELD_MEMBERS}
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


def parse_envelope(
    document: object, parse: Callable[[object], T], *, path_key: str | None = None
) -> T:
    """Return what `parse` returns for the members in the document `{"recipient_field": …}`.

    `path_key` is the key of the field in the path, which is checked here if `parse` gets no
    members to compare with it. Raises: InvalidDocument with the violations of the envelope, and
    those that `parse` raises.
    """
    envelope: Any = document if isinstance(document, dict) else {}
    others = {name: each for name, each in envelope.items() if name != _ENVELOPE}
    violations, value = Violations(), None
    if others:
        violations = bad_characters(others)
        violations += unknown_members(_storable(others), {_ENVELOPE})
    if not isinstance(document, dict):
        violations = bad_characters(document)
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


def parse_draft(
    document: object, *, repeatable: Mapping[str, object] | None = None, checked: bool = False
) -> FieldDraft:
    """Return the field that the members in the document define.

    `repeatable` are the read-only members that a document can repeat, with the values that the new
    field will have. `checked` is whether `bad_characters` has found nothing in the document.
    Raises: InvalidDocument with all violations.
    """
    members, violations = _read(document, _REQUIRED, checked=checked)
    values = _parse(members, _SETTABLE, violations)
    if values.keys() >= {"data_type", "allowed_values"}:
        with violations.collect("allowed_values"):
            values["allowed_values"] = _permitted(values["data_type"], values["allowed_values"])
    if "name" in values and "key" not in members:
        with violations.collect("key"):
            values["key"] = FieldKey.derived_from(values["name"])
    violations += repeated_violations(_repeated(members, _SETTABLE), repeatable or {})
    _require_none(violations)
    return FieldDraft(**values)


def parse_new_field(document: object, *, checked: bool = False) -> FieldDraft:
    """Return the field that a request to the API creates. Raises: InvalidDocument."""
    return parse_draft(document, repeatable=_API_ORIGIN, checked=checked)


def parse_changes(document: object, *, checked: bool = False) -> FieldChanges:
    """Return the changes that the members of a PATCH request. Raises: InvalidDocument."""
    members, violations = _read(document, checked=checked)
    values = _parse(members, WRITABLE_MEMBERS, violations)
    _require_none(violations)
    return FieldChanges(**values, repeated=_repeated(members, WRITABLE_MEMBERS))


def parse_replacement(
    document: object, key: str | None, *, is_alone: bool = True, checked: bool = False
) -> FieldChanges:
    """Return the changes that the members of a PUT request, by this key or, if None, by id.

    The data type is one of the repeated members. It is checked here only if another member is
    invalid, or if the members are not alone in the body, which is invalid then. Otherwise, it is
    compared with that of the stored field, or checked for a new one. Raises: InvalidDocument.
    """
    members, violations = _read(document, _REQUIRED, checked=checked)
    if key is not None:
        with violations.collect("key"):
            FieldKey(key)
        if members.pop("key", key) != key:
            message = "This key differs from the one in the path. Leave it out."
            violations.append(Violation(Rule.MISMATCH, message, ("key",)))
    values = _parse(members, WRITABLE_MEMBERS, violations)
    if violations or not is_alone:
        types = _parse(members, ["data_type"], violations)
        if types and values.get("allowed_values") is not None:
            with violations.collect("allowed_values"):
                AllowedValues(types["data_type"], values["allowed_values"])
    _require_none(violations)
    repeated = _repeated(members, WRITABLE_MEMBERS)
    # A response lists the violation of the data type after those of the other repeated members.
    repeated["data_type"] = repeated.pop("data_type")
    return FieldChanges(**{**_DEFAULTS, **values}, repeated=repeated)


def render_input(values: FieldDraft | FieldChanges) -> dict[str, object]:
    """Return the document that sets these values. It has no member that is UNCHANGED."""
    members = {name: getattr(values, name, UNCHANGED) for name in _SETTABLE}
    if isinstance(values, FieldChanges):
        members |= values.repeated
    return {
        _ENVELOPE: {
            name: _render_value(value) for name, value in members.items() if value is not UNCHANGED
        }
    }


def _read(
    document: object, required: Iterable[str] = (), *, checked: bool
) -> tuple[dict[str, Any], Violations]:
    """Return the members in the document, and the violations of their names and characters."""
    violations = Violations() if checked else bad_characters(document)
    if not isinstance(document, dict):
        violations.append(Violation(Rule.TYPE, "This must be an object."))
        return {}, violations
    names = _storable(document) if violations else document  # which takes time
    violations += unknown_members(names, _MEMBERS)
    violations += [
        Violation(Rule.REQUIRED, "Add this member.", (name,))
        for name in required
        if name not in document
    ]
    return dict(document), violations


def _parse(
    members: Mapping[str, Any], names: Iterable[str], violations: Violations
) -> dict[str, Any]:
    """Return the values of the valid members with these names, and collect the violations.

    A member that has a violation already gets no other one.
    """
    invalid = {each.path for each in violations}
    values = {}
    for name in names:
        if name in members and (name,) not in invalid:
            try:
                values[name] = _PARSERS[name](members[name])
            except InvalidField as error:
                violations += [each.prefixed(name) for each in error.violations]
    return values


def _repeated(members: Mapping[str, object], settable: Collection[str]) -> dict[str, object]:
    """Return the members that an input can't set, as they were sent."""
    names = _MEMBERS.keys() & members.keys() - {*settable}
    # A document can have many members, but seldom one of these.
    return {name: each for name, each in members.items() if name in names} if names else {}


def _permitted(data_type: DataType, values: Sequence[object] | None) -> AllowedValues | None:
    return None if values is None else AllowedValues(data_type, values).require_size()


def _require_none(violations: Iterable[Violation]) -> None:
    """Raise InvalidDocument if there is any violation."""
    unique = {(violation.path, violation.rule): violation for violation in violations}
    if unique:
        raise InvalidDocument(_unknown_last(unique.values()))


def _storable(names: Iterable[str]) -> list[str]:
    """Return the names without bad characters. `bad_characters` reports the others."""
    return [name for name in names if character_violation(name) is None]


def _unknown_last(violations: Iterable[Violation]) -> list[Violation]:
    """Return the violations in an order for responses, which have room for a limited number."""
    return sorted(violations, key=lambda violation: violation.rule is Rule.UNKNOWN_FIELD)


def _listed(values: object) -> list[object]:
    """Return the values of a request, which may not fit the data type."""
    if type(values) is not list:
        raise InvalidField([Violation(Rule.TYPE, "This must be an array or null.")])
    violation = item_count_violation(values)
    if violation is not None:
        raise InvalidField([violation])
    return values


def _parser(member: FieldMember) -> Callable[[Any], object]:
    """Return the function that parses the value of a member that an input can set."""
    parse = _PARSERS_OF_TYPES.get(member.kind) or (lambda value: member.kind(require_string(value)))
    return (lambda value: None if value is None else parse(value)) if member.nullable else parse


_PARSERS_OF_TYPES: Mapping[Any, Callable[[Any], object]] = {
    AllowedValues: _listed,
    DataType: DataType.parse,
    bool: require_boolean,
}
"""How a value of a request becomes a value of these types. The others are constructed of a text."""
_PARSERS = {each.name: _parser(each) for each in FIELD_MEMBERS if each.name in _SETTABLE}


def _render_value(value: object) -> object:
    match value:
        case DataType(value=name):
            return name
        case AllowedValues(values=values):
            return list(values)
        case Sequence() if not isinstance(value, str | bytes):
            return list(value)
    return value
