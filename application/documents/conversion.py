"""JSON values to typed values, with exact types: `"false"` is not a boolean and 5 is not a string.

One cattrs converter reads every document: request bodies, reports, and the responses of services.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, TypeVar, Union, get_args, get_origin

from attrs import evolve, fields_dict, has
from cattrs import (
    BaseValidationError,
    ClassValidationError,
    Converter,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.cols import list_structure_factory, mapping_structure_factory
from cattrs.gen import make_dict_structure_fn

from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    DataType,
    FieldId,
    FieldKey,
    FieldName,
    InsertionCode,
    IntegrationId,
    InvalidInput,
    RecordedOperation,
    Rule,
    Source,
    Unchanged,
    ValueExpression,
    Violation,
    Violations,
    character_violation,
    closest_match,
    format_instant,
    parse_instant,
    require_boolean,
    require_string,
)
from recipient_fields.domain.conditions import Operator
from recipient_fields.domain.content import Strict, Surface
from recipient_fields.domain.esp import Bare, Esp, NameFrom, NameState, Profiles

__all__ = ["InvalidDocument"]

MAX_VIOLATIONS = 1_000
"""Violations that one InvalidDocument lists: a small document must not cause a large response."""
_MAX_SHOWN = 10
"""Violations in its message."""

T = TypeVar("T")
V = TypeVar("V", bound=Violation)

converter: Converter = Converter(forbid_extra_keys=True)
"""Rejects members that a class does not have, and values of another type."""


class InvalidDocument(InvalidInput):
    """A JSON document breaks rules. The paths of the violations start at its root."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        super().__init__(islice(violations, MAX_VIOLATIONS))

    def __str__(self) -> str:
        shown = [with_suggestion(each) for each in self.violations[:_MAX_SHOWN]]
        return str(InvalidInput(shown))


def parse_document(
    document: object,
    kind: type[T],
    *,
    ignore_unknown: bool = False,
    profiles: Profiles | None = None,
) -> T:
    """Return the document as a value of this class.

    With `ignore_unknown`, members that the class does not have are skipped: services may add some.
    With `profiles`, they must contain the profile of an ESP that the document names.
    Raises: InvalidDocument with all violations if the document breaks a rule.
    """
    chosen = _tolerant if ignore_unknown else converter
    if profiles is not None:
        chosen = _knowing(profiles)
    try:
        return chosen.structure(document, kind)
    except (BaseValidationError, InvalidInput) as error:
        raise InvalidDocument(violations_of(error)) from None


def violations_of(error: Exception) -> Iterator[Violation]:
    """Yield the violations in an error of `converter`, with their paths."""
    match error:
        case ClassValidationError():
            members, others = error.group_exceptions()
            for inner, member in members:
                yield from (violation.prefixed(member.name) for violation in violations_of(inner))
            for inner in others:
                yield from violations_of(inner)
        case IterableValidationError():
            for inner, item in error.group_exceptions()[0]:
                yield from (violation.prefixed(item.index) for violation in violations_of(inner))
        case InvalidInput():
            yield from error.violations
        case KeyError():
            yield Violation(Rule.REQUIRED, "Add this member.")
        case ForbiddenExtraKeysError():
            yield from unknown_members(sorted(error.extra_fields), fields_dict(error.cl).keys())
        case _:
            raise error


def unknown_members(names: Iterable[str], known: Collection[str], *path: str) -> list[Violation]:
    """Return a violation for each name that is not known, with a similar name as suggestion."""
    unknown = [name for name in names if name not in known]
    few = len(unknown) <= len(known)  # A search for similar names takes time.
    return [
        Violation(
            Rule.UNKNOWN_FIELD,
            "There is no such member.",
            (*path, name),
            suggestion=closest_match(name, known) if few else None,
        )
        for name in unknown
    ]


def bad_characters(document: object) -> Violations:
    """Return a violation for each text that can't be stored, at most `MAX_VIOLATIONS`.

    The names of an object share one violation, at the path of the object.
    """
    if _is_storable(document):
        return Violations()
    return Violations(islice(_bad_characters(document), MAX_VIOLATIONS))


@contextmanager
def checked(document: object) -> Iterator[Violations]:
    """Collect the violations of the document in the block, unless it has bad characters.

    Raises: InvalidDocument with all violations if there are any.
    """
    violations = bad_characters(document)
    if violations:
        raise InvalidDocument(violations)
    with violations.collect():
        yield violations
    if violations:
        raise InvalidDocument(violations)


def with_suggestion(violation: V) -> V:
    """Return the violation with its suggestion in the message, if it has one."""
    if violation.suggestion is None:
        return violation
    return evolve(violation, message=f"{violation.message} Did you mean {violation.suggestion}?")


def _is_storable(document: object) -> bool:
    """Return whether each text can be stored: fast, because nearly all documents are."""
    remaining: list[object] = [document]
    while remaining:
        value = remaining.pop()
        if isinstance(value, str):
            if not value.isprintable() and character_violation(value) is not None:
                return False
        elif isinstance(value, list):
            remaining.extend(value)
        elif isinstance(value, dict):
            remaining.extend(value)
            remaining.extend(value.values())
    return True


def _bad_characters(value: object, path: tuple[str | int, ...] = ()) -> Iterator[Violation]:
    if isinstance(value, str):
        violation = character_violation(value)
        if violation is not None:
            yield violation.prefixed(*path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _bad_characters(item, (*path, index))
    elif isinstance(value, dict):
        violations = {name: character_violation(name) for name in value}
        bad = next(filter(None, violations.values()), None)
        if bad is not None:
            yield bad.prefixed(*path)
        for name, member in value.items():
            if violations[name] is None:
                yield from _bad_characters(member, (*path, name))


def _invalid(rule: Rule, message: str) -> InvalidInput:
    return InvalidInput([Violation(rule, message)])


def _integer(value: object) -> int:
    if type(value) is not int:
        raise _invalid(Rule.TYPE, "This must be an integer.")
    return value


def _id(value: object) -> int:
    number = _integer(value)
    if not 1 <= number <= MAX_SAFE_INTEGER:
        raise _invalid(Rule.OUT_OF_RANGE, f"An id is between 1 and {MAX_SAFE_INTEGER}.")
    return number


def _instant(value: object) -> datetime:
    text = require_string(value)
    try:
        instant = parse_instant(text)
        if format_instant(instant) == text:
            return instant
    except (ValueError, OverflowError):
        pass
    raise _invalid(Rule.FORMAT, "Write an instant in UTC like 2026-11-20T09:15:00.123Z.")


def _enum_member(value: object, kind: type[Enum]) -> Enum:
    return kind(_one_of([each.value for each in kind], value))


def _one_of(
    names: Collection[str], value: object, find_similar: Callable[[str], str | None] | None = None
) -> str:
    name = require_string(value)
    if name not in names:
        message = f"Use one of {', '.join(names)}."
        suggestion = find_similar(name) if find_similar else closest_match(name, names)
        raise InvalidInput([Violation(Rule.UNKNOWN_VALUE, message, suggestion=suggestion)])
    return name


def _esp(value: object) -> Esp:
    try:
        return Esp(require_string(value))
    except ValueError as error:
        raise _invalid(Rule.FORMAT, str(error)) from None


def _integer_or_string(value: object) -> int | str | None:
    if value is None or type(value) in {int, str}:
        return value  # type: ignore[return-value]
    raise _invalid(Rule.TYPE, "This must be an integer, a string or null.")


def _strict(value: object) -> Strict:
    if type(value) is bool or value == "mistakes":
        return value
    raise _invalid(Rule.TYPE, 'This must be true, false or "mistakes".')


def _constructed(value: object, kind: Callable[[str], T]) -> T:
    return kind(require_string(value))


_HOOKS: Mapping[Any, Callable[[object, Any], object]] = {
    bool: lambda value, _: require_boolean(value),
    int: lambda value, _: _integer(value),
    str: lambda value, _: require_string(value),
    datetime: lambda value, _: _instant(value),
    DataType: lambda value, _: DataType.parse(value),
    Esp: lambda value, _: _esp(value),
    FieldId: lambda value, _: _id(value),
    FieldKey: _constructed,
    FieldName: _constructed,
    InsertionCode: _constructed,
    IntegrationId: lambda value, _: _id(value),
    NameFrom: _enum_member,
    NameState: _enum_member,
    Operator: _enum_member,
    RecordedOperation: _enum_member,
    Source: _enum_member,
    Bare: _enum_member,
    Surface: _enum_member,
    ValueExpression: _constructed,
}
"""How a JSON value is converted to each type."""

_ARRAYS: Collection[object] = {list, Sequence}
_OBJECTS: Collection[object] = {dict, Mapping}


def _shaped(
    shape: type, message: str, make: Callable[[Any, Converter], Callable[[Any, Any], Any]]
) -> Callable[[Any, Converter], Callable[[object, Any], object]]:
    """Return a factory of hooks that require this JSON type: those of cattrs do not."""

    def factory(kind: Any, converter: Converter) -> Callable[[object, Any], object]:
        structure = make(kind, converter)

        def hook(value: object, _kind: Any) -> object:
            if type(value) is not shape:
                raise _invalid(Rule.TYPE, message)
            return structure(value, kind)

        return hook

    return factory


def _without_unchanged(kind: Any, converter: Converter) -> Callable[[object, Any], object]:
    """Return the hook of a member that may be omitted: no JSON value means UNCHANGED."""
    sent: Any = Union[tuple(arg for arg in get_args(kind) if arg is not Unchanged)]  # noqa: UP007
    structure = converter.get_structure_hook(sent)
    return lambda value, _kind: structure(value, sent)


for _kind, _hook in _HOOKS.items():
    converter.register_structure_hook(_kind, _hook)
converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
converter.register_structure_hook_func(
    lambda kind: kind == int | str | None, lambda value, _: _integer_or_string(value)
)
converter.register_structure_hook_func(lambda kind: kind == Strict, lambda value, _: _strict(value))
for _predicate, _factory in (
    (has, _shaped(dict, "This must be an object.", make_dict_structure_fn)),
    (
        lambda kind: get_origin(kind) in _ARRAYS,
        _shaped(list, "This must be an array.", list_structure_factory),
    ),
    (
        lambda kind: get_origin(kind) in _OBJECTS,
        _shaped(dict, "This must be an object.", mapping_structure_factory),
    ),
    (lambda kind: Unchanged in get_args(kind), _without_unchanged),
):
    converter.register_structure_hook_factory(_predicate, _factory)

_tolerant = converter.copy(forbid_extra_keys=False)


@cache
def _knowing(profiles: Profiles) -> Converter:
    """Return the converter that rejects the names of other ESPs."""
    knowing = converter.copy()
    knowing.register_structure_hook(
        Esp, lambda value, _: Esp(_one_of(profiles.esps, value, profiles.find_similar))
    )
    return knowing
