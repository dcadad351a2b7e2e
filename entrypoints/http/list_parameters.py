"""The query parameters of the list, and the cursors of its pages (HTTP contract, section 4)."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from attrs import evolve, frozen

from recipient_fields.application.references import is_id
from recipient_fields.domain import (
    DataType,
    FieldId,
    FieldKey,
    FieldPage,
    FieldQuery,
    IntegrationId,
    InvalidField,
    InvalidQuery,
    OrganizationId,
    Position,
    SortKey,
    Source,
    epoch_milliseconds,
    from_epoch_milliseconds,
)

from .parameters import invalid_value

MAX_PAGE_SIZE = 1_000
MAX_TEXT_LENGTH = 100

_CURSOR = re.compile(r"[A-Za-z0-9_-]+")


def parse_query(parameters: Mapping[str, str], organization_id: OrganizationId) -> FieldQuery:
    """Return the query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    members: dict[str, Any] = {}
    for name, value in parameters.items():
        if name != "cursor":
            members |= _parse(name, value)
    query = FieldQuery(**members)
    if "cursor" not in parameters:
        return query
    limit, after = _read_cursor(parameters["cursor"], query, organization_id)
    return evolve(query, limit=query.limit or limit, after=after)


def next_page(parameters: Mapping[str, str], query: FieldQuery, page: FieldPage) -> str | None:
    """Return the query string of the next page, or None after the last page."""
    if page.next is None:
        return None
    cursor = _write_cursor(query, page.next, page.organization_id)
    return urlencode({**parameters, "cursor": cursor})


@frozen
class _Parameter:
    """The parser of one query parameter."""

    parse: Callable[[str], Mapping[str, object]]
    """Returns members of a FieldQuery. Raises: ValueError, InvalidField if a value is invalid."""
    rule: str
    """The valid values, for error messages."""


def _parse(name: str, value: str) -> Mapping[str, object]:
    parameter = _PARAMETERS[name]
    try:
        return parameter.parse(value)
    except (ValueError, InvalidField):
        raise invalid_value(name, parameter.rule) from None


def _alternatives(member: str, parse: Callable[[str], object], rule: str) -> _Parameter:
    """Return the parser of a parameter that has several values."""
    return _Parameter(
        lambda text: {member: frozenset(parse(one) for one in text.split(","))},
        f"{rule}. Separate several values by commas, or repeat the parameter.",
    )


def _integration_id(text: str) -> IntegrationId:
    if not is_id(text):
        raise ValueError(text)
    return IntegrationId(int(text))


def _insertable(text: str) -> Mapping[str, object]:
    if text.lower() not in {"true", "false"}:
        raise ValueError(text)
    return {"insertable": text.lower() == "true"}


def _text(text: str) -> Mapping[str, object]:
    if not 1 <= len(text) <= MAX_TEXT_LENGTH:
        raise ValueError(text)
    return {"text": text}


def _sort(text: str) -> Mapping[str, object]:
    return {"sort": SortKey(text.removeprefix("-")), "descending": text.startswith("-")}


def _limit(text: str) -> Mapping[str, object]:
    if not is_id(text) or int(text) > MAX_PAGE_SIZE:
        raise ValueError(text)
    return {"limit": int(text)}


def _one_of(kind: type[Enum]) -> str:
    *names, last = (f"`{member.value}`" for member in kind)
    return f"{', '.join(names)} or {last}"


_REPEATABLE: Mapping[str, _Parameter] = {
    "source": _alternatives("sources", Source, f"use {_one_of(Source)}"),
    "data_type": _alternatives("data_types", DataType, f"use {_one_of(DataType)}"),
    "key": _alternatives("keys", FieldKey, "use the key of a field, such as `loyalty_tier`"),
    "integration_id": _alternatives(
        "integration_ids", _integration_id, "use the id of an integration, such as `1`"
    ),
}
_SINGLE: Mapping[str, _Parameter] = {
    "insertable": _Parameter(_insertable, "use `true` or `false`."),
    "q": _Parameter(_text, f"use 1 to {MAX_TEXT_LENGTH} characters."),
    "sort": _Parameter(_sort, f"use {_one_of(SortKey)}, with `-` before it for descending order."),
    "limit": _Parameter(_limit, f"use a number from 1 to {MAX_PAGE_SIZE}."),
}
_PARAMETERS = {**_REPEATABLE, **_SINGLE}
"""All parameters except the cursor, which depends on the others."""

REPEATABLE = tuple(_REPEATABLE)
"""The filters that have several values."""
NAMES = (*_PARAMETERS, "cursor")


def _write_cursor(query: FieldQuery, position: Position, organization_id: OrganizationId) -> str:
    value = position.value
    members = [
        query.limit,
        value if isinstance(value, str | int) else epoch_milliseconds(value),
        position.id,
    ]
    token = json.dumps([*members, checksum(members, query, organization_id)], separators=(",", ":"))
    return urlsafe_b64encode(token.encode("ascii")).decode("ascii").rstrip("=")


def _read_cursor(
    cursor: str, query: FieldQuery, organization_id: OrganizationId
) -> tuple[int, Position]:
    if _CURSOR.fullmatch(cursor) is None:  # The decoder ignores characters that are not base64.
        raise _invalid_cursor()
    try:
        token = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        *members, received_checksum = json.loads(token)
        if received_checksum != checksum(members, query, organization_id):
            raise _invalid_cursor()
        limit, value, field_id = members
        kind = str if query.sort.value_type is str else int
        if [type(part) for part in members] != [int, kind, int]:
            raise _invalid_cursor()
        if not (1 <= limit <= MAX_PAGE_SIZE and field_id >= 1):
            raise _invalid_cursor()
        if query.sort.value_type is datetime:
            value = from_epoch_milliseconds(value)
        return limit, Position(value, FieldId(field_id))
    except (ValueError, TypeError, OverflowError, RecursionError, InvalidQuery):
        raise _invalid_cursor() from None


def checksum(position: list[Any], query: FieldQuery, organization_id: OrganizationId) -> str:
    """Return a checksum of the position and its query.

    It detects a cursor that is used with another query. It is no secret.
    """
    query_members = [
        organization_id,
        _names(query.sources),
        _names(query.data_types),
        _names(query.keys),
        _names(query.integration_ids),
        query.insertable,
        query.text,
        query.sort.value,
        query.descending,
    ]
    return sha256(json.dumps([position, query_members]).encode("ascii")).hexdigest()[:16]


def _names(alternatives: frozenset[Any] | None) -> list[str] | None:
    if alternatives is None:
        return None
    return sorted(str(getattr(alternative, "value", alternative)) for alternative in alternatives)


def _invalid_cursor() -> Exception:
    rule = "it belongs to other filters or another order. Start again without `cursor`."
    return invalid_value("cursor", rule)
