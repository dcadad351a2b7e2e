"""What is asked of a service, as HTTP has it.

HTTP contract, section 4. What JSON or a header can't carry is judged here as the service would.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from recipient_fields.domain import (
    ANY_VERSION,
    API,
    UNCHANGED,
    FieldChanges,
    FieldDefinition,
    FieldQuery,
    FieldReplacement,
    InvalidField,
    Precondition,
    Rule,
    Versions,
    Violation,
    character_violation,
    read_only_violations,
)

_TAG = re.compile(r"[\x21\x23-\x7e]+")
_LONGEST_QUERY = 4_000
"""Proxies may take no longer ones."""
_WRITABLE = (
    "name",
    "allowed_values",
    "insertable",
    "custom_insertion_code",
    "custom_value_expression",
)


def definition_body(definition: FieldDefinition) -> bytes:
    """The body of a POST."""
    allowed = definition.allowed_values
    return _body(
        {
            "name": definition.name,
            "key": definition.key,
            "data_type": definition.data_type.value,
            "allowed_values": None if allowed is None else allowed.values,
            "insertable": definition.insertable,
            "custom_insertion_code": definition.custom_insertion_code,
            "custom_value_expression": definition.custom_value_expression,
        }
    )


def changes_body(changes: FieldChanges) -> bytes:
    """The body of a PATCH. InvalidField."""
    return _body({**_stated(changes.read_only_members), **_writable(changes)})


def replacement_body(replacement: FieldReplacement) -> bytes:
    """The body of a PUT. InvalidField."""
    return _body(
        {
            **_stated(replacement.read_only_members),
            **_writable(replacement),
            "data_type": replacement.data_type,
        }
    )


def condition_headers(precondition: Precondition) -> Mapping[str, str]:
    """`If-Match` and `If-None-Match`."""
    headers = {}
    if precondition.match is not None:
        headers["If-Match"] = _tags(precondition.match) or '""'  # which no version is called
    if precondition.none_match is not None and (tags := _tags(precondition.none_match)):
        headers["If-None-Match"] = tags
    return headers


def list_parameters(query: FieldQuery, cursor: str | None) -> str | None:
    """The query string of that page; None where HTTP has no words for the query.

    `cursor` stands for `after`. The service may still refuse what it finds too much.
    """
    if not _sayable(query):
        return None
    said = {
        "source": _joined(source.value for source in query.sources or ()),
        "data_type": _joined(data_type.value for data_type in query.data_types or ()),
        "key": _joined(query.keys or ()),
        "integration_id": _joined(str(each) for each in query.integration_ids or ()),
        "insertable": None if query.insertable is None else str(query.insertable).lower(),
        "q": query.text,
        "sort": ("-" if query.descending else "") + query.sort.value,
        "limit": query.limit,
        "cursor": cursor,
    }
    parameters = urlencode({name: value for name, value in said.items() if value is not None})
    return parameters if len(parameters) <= _LONGEST_QUERY else None


def _sayable(query: FieldQuery) -> bool:
    """Does it mean the same as parameters? Without values a filter would be none."""
    alternatives = (query.sources, query.data_types, query.keys, query.integration_ids)
    return all(each is None or each for each in alternatives) and (
        query.text is None or character_violation(query.text) is None
    )


def _joined(alternatives: Iterable[str]) -> str | None:
    return ",".join(sorted(alternatives)) or None


def _tags(versions: Versions) -> str:
    if versions is ANY_VERSION:
        return ANY_VERSION.value
    return ", ".join(f'"{tag}"' for tag in sorted(versions) if _TAG.fullmatch(tag))


def _writable(asked: FieldChanges | FieldReplacement) -> Mapping[str, object]:
    members = {name: getattr(asked, name) for name in _WRITABLE}
    allowed = members["allowed_values"]
    if isinstance(allowed, Sequence) and not isinstance(allowed, str | bytes):
        members["allowed_values"] = list(allowed)
    return {name: value for name, value in members.items() if value is not UNCHANGED}


def _stated(members: Mapping[str, object]) -> Mapping[str, object]:
    """What is stated of members that can't be changed; nobody states one that can."""
    misplaced = {name: value for name, value in members.items() if name in _WRITABLE}
    if misplaced:
        raise InvalidField(read_only_violations(misplaced, by=API))
    return members


def _body(members: Mapping[str, object]) -> bytes:
    violations = [
        violation for name, value in members.items() for violation in _unsayable(value, (name,))
    ]
    if violations:
        raise InvalidField(violations)
    document = {"recipient_field": dict(members)}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # Lone surrogates are the service's to refuse.
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def _unsayable(value: object, path: tuple[str | int, ...]) -> list[Violation]:
    """What JSON can't carry."""
    match value:
        case None | bool() | str():
            return []
        case int() if abs(value) < 2**1023:
            return []
        case float() if math.isfinite(value):
            return []
        case int() | float():
            return [Violation(Rule.OUT_OF_RANGE, "A number must be finite, and a double.", path)]
        case list() | tuple():
            return [v for i, each in enumerate(value) for v in _unsayable(each, (*path, i))]
        case dict() if all(isinstance(name, str) for name in value):
            return [v for name, each in value.items() for v in _unsayable(each, (*path, name))]
    return [Violation(Rule.TYPE, "JSON has no such value.", path)]
