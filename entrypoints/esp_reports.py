"""What an ESP reports, as a JSON document: for fields that no connector fetches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from recipient_fields.domain import (
    DataType,
    InvalidField,
    InvalidInput,
    Rule,
    Violation,
    Violations,
    closest_match,
)
from recipient_fields.domain.esp import EspField

MOST_VIOLATIONS = 10
"""How many violations are told at once: a file of thousands of fields can break a rule in each."""


class InvalidReport(InvalidInput):
    """The document is not what an ESP reports."""


def parse_report(document: object) -> tuple[EspField, ...]:
    """The fields of `{"fields": [{"name", "data_type", "label", "allowed_values", "standard"}]}`.

    `name` and `data_type` are required. Types are exact. InvalidReport with the first violations.
    """
    violations = Violations()
    fields = []
    for index, each in enumerate(_listed(document)):
        with violations.collect("fields", index):
            fields.append(_field(each))
        if len(violations) >= MOST_VIOLATIONS:
            break
    if violations:
        raise InvalidReport(violations[:MOST_VIOLATIONS])
    return tuple(fields)


def _listed(document: object) -> list[object]:
    if isinstance(document, dict) and document.keys() == {"fields"}:
        listed = document["fields"]
        if isinstance(listed, list):
            return listed
    message = 'Write {"fields": [{"name": …, "data_type": …}]}, and nothing beside `fields`.'
    raise InvalidReport([Violation(Rule.TYPE, message)])


def _field(document: object) -> EspField:
    if not isinstance(document, dict):
        raise InvalidField([Violation(Rule.TYPE, "This must be an object.")])
    violations = Violations()
    members: dict[str, Any] = {}
    for name, value in document.items():
        with violations.collect(name):
            members[name] = _parser(name)(value)
    for name in ("name", "data_type"):
        if name not in document:
            violations.append(Violation(Rule.REQUIRED, "This member is required.", (name,)))
    if violations:
        raise InvalidField(violations)
    return EspField(**members)


def _parser(member: str) -> Callable[[object], object]:
    if member in _PARSERS:
        return _PARSERS[member]
    message = "There is no such member."
    suggestion = closest_match(member, _PARSERS)
    if suggestion is not None:
        message = f"There is no such member. Did you mean {suggestion}?"
    raise InvalidField([Violation(Rule.UNKNOWN_FIELD, message)])


def _of_type(kind: type, sentence: str, *, optional: bool = False) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if type(value) is kind or (optional and value is None):
            return value
        raise InvalidField([Violation(Rule.TYPE, sentence)])

    return parse


_PARSERS: Mapping[str, Callable[[object], object]] = {
    "name": _of_type(str, "This must be a string."),
    "data_type": DataType.parse,
    "label": _of_type(str, "This must be a string or null.", optional=True),
    "allowed_values": _of_type(list, "This must be a list or null.", optional=True),
    "standard": _of_type(bool, "This must be true or false."),
}
