"""From a JSON document to what the domain is asked for; every violation is told at once.

HTTP contract, sections 2 and 4. Types are exact: `"false"` is no boolean and 5 is no string.
A document that breaks rules is RequestRejected as `validation_failed`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from recipient_fields.domain import (
    API,
    AllowedValues,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldName,
    FieldReplacement,
    InsertionCode,
    InvalidField,
    Rule,
    ValueExpression,
    Violation,
    Violations,
    character_violation,
    closest_match,
    item_count_violation,
    read_only_violations,
    require_boolean,
    require_string,
)

from .problems import MAX_DETAILS, RequestRejected

Parser: TypeAlias = Callable[[object], object]

_ENVELOPE = "recipient_field"


def parse_draft(document: object) -> FieldDraft:
    """The field a POST asks for."""
    body = _Body(document, required=("name", "data_type"))
    values = body.parse(_WRITABLE | _GIVEN_ONCE)
    body.judge_allowed_values(values)
    if "key" not in body.members and "name" in values:
        with body.problems.collect(_ENVELOPE, "key"):
            values["key"] = FieldKey.derived_from(values["name"])
    body.judge_stated()
    body.require_valid()
    return FieldDraft(**values)


def parse_changes(document: object) -> FieldChanges:
    """The changes a PATCH asks for."""
    body = _Body(document)
    values = body.parse(_WRITABLE)
    body.require_valid()
    return FieldChanges(**values, read_only_members=body.stated())


def parse_replacement(document: object, key: str | None) -> FieldReplacement:
    """What a PUT asks for, by this key or (None) by id.

    A data type that is wrong in itself is for the stored field to judge, if there is one, unless
    the request is invalid anyway.
    """
    body = _Body(document, required=("name", "data_type"))
    if key is not None:
        body.judge_path_key(key)
    values = body.parse(_WRITABLE)
    if body.problems:
        body.judge_allowed_values(values | body.parse({"data_type": DataType.parse}))
    body.require_valid()
    stated = body.stated()
    data_type = stated.pop("data_type")
    return FieldReplacement(**values, data_type=data_type, read_only_members=stated)


class _Body:
    """The members of the `recipient_field` envelope, and all that is wrong with the document."""

    def __init__(self, document: object, required: Iterable[str] = ()) -> None:
        # More would not fit into a response.
        self.problems = Violations(islice(_bad_characters(document, ()), MAX_DETAILS))
        self._tainted = {problem.path for problem in self.problems}
        self.members = self._open(document, required)

    def _open(self, document: object, required: Iterable[str]) -> dict[str, object]:
        if not isinstance(document, dict):
            self.problems.append(Violation(Rule.TYPE, "Send a JSON object."))
            return {}
        self._refuse_unknown(document, {_ENVELOPE}, ())
        if _ENVELOPE not in document:
            message = "Send the field's members in this object."
            self.problems.append(Violation(Rule.REQUIRED, message, (_ENVELOPE,)))
            return {}
        members = document[_ENVELOPE]
        if not isinstance(members, dict):
            self.problems.append(Violation(Rule.TYPE, "This must be an object.", (_ENVELOPE,)))
            return {}
        self._refuse_unknown(members, _MEMBERS, (_ENVELOPE,))
        self.problems += [
            Violation(Rule.REQUIRED, "Send this member.", (_ENVELOPE, name))
            for name in required
            if name not in members
        ]
        return dict(members)

    def parse(self, parsers: Mapping[str, Parser]) -> dict[str, Any]:
        """The members that these parsers find valid, parsed."""
        values: dict[str, Any] = {}
        for name, parser in parsers.items():
            if name in self.members and (_ENVELOPE, name) not in self._tainted:
                with self.problems.collect(_ENVELOPE, name):
                    values[name] = parser(self.members[name])
        return values

    def stated(self) -> dict[str, object]:
        """The members that can't be written, as they were sent."""
        return {name: value for name, value in self.members.items() if name not in _WRITABLE}

    def judge_allowed_values(self, values: dict[str, Any]) -> None:
        """Hold the parsed allowed values against the parsed data type."""
        if "data_type" in values and values.get("allowed_values") is not None:
            with self.problems.collect(_ENVELOPE, "allowed_values"):
                values["allowed_values"] = AllowedValues(
                    values["data_type"], values["allowed_values"]
                )

    def judge_stated(self) -> None:
        """Hold the members that can't be written against those of a field yet to be made."""
        stated = {n: v for n, v in self.members.items() if n in _READ_ONLY}
        self.problems += [v.prefixed(_ENVELOPE) for v in read_only_violations(stated, by=API)]

    def judge_path_key(self, key: str) -> None:
        """Hold the path's key against the rules, and the envelope's key against the path's."""
        with self.problems.collect(_ENVELOPE, "key"):
            FieldKey(key)
        if self.members.pop("key", key) != key:
            message = "This key differs from the one in the path. Leave it out."
            self.problems.append(Violation(Rule.MISMATCH, message, (_ENVELOPE, "key")))

    def require_valid(self) -> None:
        """RequestRejected as `validation_failed` with every problem there is."""
        if self.problems:
            told = {(problem.path, problem.rule): problem for problem in self.problems}
            # An answer has room for so many, and what is wrong with our members tells more.
            first = sorted(told.values(), key=lambda problem: problem.rule is Rule.UNKNOWN_FIELD)
            raise RequestRejected("validation_failed", violations=first)

    def _refuse_unknown(
        self, members: Iterable[str], known: Collection[str], path: tuple[str, ...]
    ) -> None:
        unknown = [
            name for name in members if name not in known and character_violation(name) is None
        ]
        slips = len(unknown) <= len(known)  # Looking for near names takes time: no body buys much.
        self.problems += [
            Violation(
                Rule.UNKNOWN_FIELD,
                "There is no such member.",
                (*path, name),
                suggestion=closest_match(name, known) if slips else None,
            )
            for name in unknown
        ]


def _bad_characters(value: object, path: tuple[str | int, ...]) -> Iterator[Violation]:
    """Yield a violation for each text that can't be stored, one for all names of an object."""
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


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise InvalidField([Violation(Rule.TYPE, "This must be an array or null.")])
    violation = item_count_violation(value)
    if violation is not None:
        raise InvalidField([violation])
    return value


def _nullable(parser: Parser) -> Parser:
    return lambda value: None if value is None else parser(value)


_WRITABLE: dict[str, Parser] = {
    "name": lambda value: FieldName(require_string(value)),
    "allowed_values": _nullable(_list),
    "insertable": require_boolean,
    "custom_insertion_code": _nullable(lambda value: InsertionCode(require_string(value))),
    "custom_value_expression": _nullable(lambda value: ValueExpression(require_string(value))),
}
_GIVEN_ONCE: dict[str, Parser] = {
    "key": lambda value: FieldKey(require_string(value)),
    "data_type": DataType.parse,
}
_READ_ONLY = {"id", "source", "integration_id", "esp_field_name", "created_at", "updated_at"}
_MEMBERS = _WRITABLE.keys() | _GIVEN_ONCE.keys() | _READ_ONLY
