"""The query parameters of the list and its cursors (*The list* in docs/http-api.md)."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from attrs import evolve

from recipient_fields.application.documents.value_schemas import RFC_3339_PATTERN
from recipient_fields.domain import (
    DataType,
    FieldId,
    FieldPage,
    FieldQuery,
    InvalidQuery,
    NoSuchTime,
    OrganizationId,
    Position,
    SortKey,
    epoch_milliseconds,
    from_epoch_milliseconds,
    parse_instant,
)

from ..requests import invalid_value, parse_members
from ..resource import (
    ID_PARAMETER,
    MAX_PAGE_SIZE,
    Parameter,
    alternatives,
    key_filter,
    one_of,
    page_size,
    parse_integration_id,
    source_filter,
    truth_value,
)

MAX_TEXT_LENGTH = 100

_CURSOR = re.compile(r"[A-Za-z0-9_-]+")


def parse_query(parameters: Mapping[str, str], organization_id: OrganizationId) -> FieldQuery:
    """Return the query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    query = FieldQuery(**parse_members(parameters, LIST_PARAMETERS))
    as_of = parse_as_of(parameters)
    if as_of is not None and not query.counterparts:
        raise invalid_value("counterparts", "omit it with `as_of`: earlier ESP names are unknown.")
    if "cursor" not in parameters:
        return query
    limit, after = _read_cursor(parameters["cursor"], query, organization_id, as_of)
    return evolve(query, limit=query.limit or limit, after=after)


def parse_as_of(parameters: Mapping[str, str]) -> datetime | None:
    """Return the time of the requested catalog, or None if it is the current one.

    Raises: RequestRejected as `invalid_parameter` if the time is invalid.
    """
    if "as_of" not in parameters:
        return None
    try:
        return parse_instant(parameters["as_of"])
    except NoSuchTime as error:
        raise invalid_value("as_of", str(error).lower()) from None
    except (ValueError, OverflowError):
        raise invalid_value("as_of", _AS_OF_RULE) from None


def next_page(parameters: Mapping[str, str], query: FieldQuery, page: FieldPage) -> str | None:
    """Return the query string of the next page, or None after the last page."""
    if page.next is None:
        return None
    as_of = parse_as_of(parameters)
    cursor = _write_cursor(query, page.next, page.organization_id, as_of)
    return urlencode({**parameters, "cursor": cursor})


def _text(text: str) -> Mapping[str, object]:
    if not 1 <= len(text) <= MAX_TEXT_LENGTH:
        raise ValueError(text)
    return {"text": text}


def _sort(text: str) -> Mapping[str, object]:
    return {"sort": SortKey(text.removeprefix("-")), "descending": text.startswith("-")}


LIST_PARAMETERS: Mapping[str, Parameter] = {
    "source": source_filter("Only fields of this source."),
    "data_type": alternatives(
        "data_types",
        DataType,
        f"use {one_of(each.value for each in DataType)}",
        description="Only fields of this data type.",
        schema=DataType,
    ),
    "key": key_filter("Only the field with this key."),
    "integration_id": alternatives(
        "integration_ids",
        parse_integration_id,
        "use the id of an integration, such as `1`",
        description="Only fields that this integration syncs.",
        schema=ID_PARAMETER,
    ),
    "insertable": truth_value(
        "insertable", "Only fields that can (`true`) or can't (`false`) be inserted into content."
    ),
    "counterparts": truth_value(
        "counterparts",
        "`false`: without the synced fields for which another field of the list stands. The default"
        " is `true`.",
    ),
    "q": Parameter(
        description=(
            "Only fields whose name, key or ESP field name contains this text, in any case."
        ),
        schema={
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_TEXT_LENGTH,
            "pattern": r"^[^\x00]*$",
        },
        parse=_text,
        rule=f"use 1 to {MAX_TEXT_LENGTH} characters.",
    ),
    "sort": Parameter(
        description=(
            "The order. The default is `id`; equal values are ordered by ascending id. A `-` before"
            " the name reverses the order. Texts are compared by code points."
        ),
        schema={
            "type": "string",
            "enum": [sign + key.value for key in SortKey for sign in ("", "-")],
        },
        parse=_sort,
        rule=(
            f"use {one_of(each.value for each in SortKey)}, with `-` before it for descending"
            " order."
        ),
    ),
    "limit": page_size("The number of fields per page. The default is all."),
    "as_of": Parameter(
        description=(
            "The list as it was at this time, after all changes until then. The default is the"
            " current list. Times before the first record of the history are 404 `before_history`."
        ),
        # No `format`: a generated Python client would send six decimals.
        schema={"type": "string", "pattern": RFC_3339_PATTERN},
    ),
    "cursor": Parameter(
        description=(
            "The start of a page. Use the URLs in `Link`, which contain it. Its format is private."
        ),
        schema={"type": "string", "pattern": f"^{_CURSOR.pattern}$"},
    ),
}
"""The query parameters by name."""
_AS_OF_RULE = (
    "use a time such as `2026-11-20T09:15:00.123Z`, with `Z` or an offset and at most three"
    " decimals. Write `+` as `%2B`."
)


def _write_cursor(
    query: FieldQuery, position: Position, organization_id: OrganizationId, as_of: datetime | None
) -> str:
    value = position.value
    members = [
        query.limit,
        value if isinstance(value, str | int) else epoch_milliseconds(value),
        position.id,
    ]
    token = json.dumps(
        [*members, checksum(members, query, organization_id, as_of)], separators=(",", ":")
    )
    return urlsafe_b64encode(token.encode("ascii")).decode("ascii").rstrip("=")


def _read_cursor(
    cursor: str, query: FieldQuery, organization_id: OrganizationId, as_of: datetime | None
) -> tuple[int, Position]:
    if _CURSOR.fullmatch(cursor) is None:  # The decoder ignores characters that are not base64.
        raise _damaged_cursor()
    try:
        token = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        *members, received_checksum = json.loads(token)
        if received_checksum != checksum(members, query, organization_id, as_of):
            raise _foreign_cursor()
        limit, value, field_id = members
        kind = str if query.sort.value_type is str else int
        has_types = [type(part) for part in members] == [int, kind, int]
        if not (has_types and 1 <= limit <= MAX_PAGE_SIZE and field_id >= 1):
            raise _damaged_cursor()
        if query.sort.value_type is datetime:
            value = from_epoch_milliseconds(value)
        return limit, Position(value, FieldId(field_id))
    except (ValueError, TypeError, OverflowError, RecursionError, InvalidQuery):
        raise _damaged_cursor() from None


def checksum(
    position: list[Any],
    query: FieldQuery,
    organization_id: OrganizationId,
    as_of: datetime | None = None,
) -> str:
    """Return a checksum of the position, its query and the time of the catalog.

    It detects a cursor that is used with another query. It is no secret.
    """
    query_members: list[Any] = [
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
    if not query.counterparts:
        query_members.append("without counterparts")
    if as_of is not None:
        query_members.append(epoch_milliseconds(as_of))
    return sha256(json.dumps([position, query_members]).encode("ascii")).hexdigest()[:16]


def _names(alternatives: frozenset[Any] | None) -> list[str] | None:
    if alternatives is None:
        return None
    return sorted(str(getattr(alternative, "value", alternative)) for alternative in alternatives)


def _damaged_cursor() -> Exception:
    rule = (
        "it is damaged. Copy it unchanged from the link to the next page, or omit `cursor` to start"
        " at the first page."
    )
    return invalid_value("cursor", rule)


def _foreign_cursor() -> Exception:
    rule = (
        "it belongs to other filters or another order, or is damaged. Start again without `cursor`."
    )
    return invalid_value("cursor", rule)
