"""The parameters of the list, and the cursors that lead from page to page.

HTTP contract, section 4.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import urlencode

from attrs import evolve

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

from ..references import is_id
from .parameters import refused_parameter

T = TypeVar("T")

LARGEST_PAGE = 1_000
LONGEST_TEXT = 100

_CURSOR = re.compile(r"[A-Za-z0-9_-]+")


def parse_query(parameters: Mapping[str, str], organization_id: OrganizationId) -> FieldQuery:
    """What the parameters ask for; Refused as `invalid_parameter`."""
    members: dict[str, Any] = {}
    for name, value in parameters.items():
        if name != "cursor":
            members |= PARSERS[name](value)
    query = FieldQuery(**members)
    if "cursor" not in parameters:
        return query
    limit, after = _read_cursor(parameters["cursor"], query, organization_id)
    return evolve(query, limit=query.limit or limit, after=after)


def next_page(parameters: Mapping[str, str], query: FieldQuery, page: FieldPage) -> str | None:
    """The query string of the page behind this one; None behind the last."""
    if page.next is None:
        return None
    cursor = _write_cursor(query, page.next, page.organization_id)
    return urlencode({**parameters, "cursor": cursor})


def _sources(text: str) -> dict[str, object]:
    return {"sources": _alternatives(f"source is {_one_of(Source)}", text, Source)}


def _data_types(text: str) -> dict[str, object]:
    return {"data_types": _alternatives(f"data_type is {_one_of(DataType)}", text, DataType)}


def _keys(text: str) -> dict[str, object]:
    return {"keys": _alternatives("key is the key of a field", text, FieldKey)}


def _integration_ids(text: str) -> dict[str, object]:
    rule = "integration_id is the id of an integration"
    return {"integration_ids": _alternatives(rule, text, _integration_id)}


def _insertable(text: str) -> dict[str, object]:
    if text not in {"true", "false"}:
        raise refused_parameter("insertable is true or false.")
    return {"insertable": text == "true"}


def _text(text: str) -> dict[str, object]:
    if not 1 <= len(text) <= LONGEST_TEXT:
        raise refused_parameter(f"q has 1 to {LONGEST_TEXT} characters.")
    return {"text": text}


def _sort(text: str) -> dict[str, object]:
    try:
        return {"sort": SortKey(text.removeprefix("-")), "descending": text.startswith("-")}
    except ValueError:
        raise refused_parameter(f"sort is {_one_of(SortKey)}, after - if descending.") from None


def _limit(text: str) -> dict[str, object]:
    if not is_id(text) or int(text) > LARGEST_PAGE:
        raise refused_parameter(f"limit is a number from 1 to {LARGEST_PAGE:,}.")
    return {"limit": int(text)}


PARSERS: Mapping[str, Callable[[str], dict[str, object]]] = {
    "source": _sources,
    "data_type": _data_types,
    "key": _keys,
    "integration_id": _integration_ids,
    "insertable": _insertable,
    "q": _text,
    "sort": _sort,
    "limit": _limit,
}
"""Each parameter but the cursor, as members of a FieldQuery."""

NAMES = (*PARSERS, "cursor")


def _one_of(kind: type[Enum]) -> str:
    return f"one of {', '.join(member.value for member in kind)}"


def _alternatives(rule: str, text: str, parse: Callable[[str], T]) -> frozenset[T]:
    try:
        return frozenset(parse(alternative) for alternative in text.split(","))
    except (ValueError, InvalidField):
        raise refused_parameter(f"{rule}, or several separated by commas.") from None


def _integration_id(text: str) -> IntegrationId:
    if not is_id(text):
        raise ValueError(text)
    return IntegrationId(int(text))


def _write_cursor(query: FieldQuery, position: Position, organization_id: OrganizationId) -> str:
    value = position.value
    place = [
        query.limit,
        value if isinstance(value, str | int) else epoch_milliseconds(value),
        position.id,
    ]
    token = json.dumps([*place, seal(place, query, organization_id)], separators=(",", ":"))
    return urlsafe_b64encode(token.encode("ascii")).decode("ascii").rstrip("=")


def _read_cursor(
    cursor: str, query: FieldQuery, organization_id: OrganizationId
) -> tuple[int, Position]:
    if _CURSOR.fullmatch(cursor) is None:  # The decoder leaves out what is no base64.
        raise _refused_cursor()
    try:
        token = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        *place, sealed = json.loads(token)
        if sealed != seal(place, query, organization_id):
            raise _refused_cursor()
        limit, value, field_id = place
        kind = str if query.sort.kind is str else int
        if [type(part) for part in place] != [int, kind, int]:
            raise _refused_cursor()
        if not (1 <= limit <= LARGEST_PAGE and field_id >= 1):
            raise _refused_cursor()
        if query.sort.kind is datetime:
            value = from_epoch_milliseconds(value)
        return limit, Position(value, FieldId(field_id))
    except (ValueError, TypeError, OverflowError, RecursionError, InvalidQuery):
        raise _refused_cursor() from None


def seal(place: list[Any], query: FieldQuery, organization_id: OrganizationId) -> str:
    """Ties a place to its query, so that no other takes it by mistake; it is no secret."""
    asked = [
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
    return sha256(json.dumps([place, asked]).encode("ascii")).hexdigest()[:16]


def _names(alternatives: frozenset[Any] | None) -> list[str] | None:
    if alternatives is None:
        return None
    return sorted(str(getattr(alternative, "value", alternative)) for alternative in alternatives)


def _refused_cursor() -> Exception:
    return refused_parameter("This cursor belongs to another query. Begin again without it.")
