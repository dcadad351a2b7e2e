"""The query parameters of the history, and the links between its pages."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from recipient_fields.application.references import is_id
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    HistoryQuery,
    RecordedOperation,
)

from .parameters import KEY, LIMIT, SOURCE, Parameter, alternatives, one_of, parse_members


def parse_history_query(parameters: Mapping[str, str]) -> HistoryQuery:
    """Return the query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    return HistoryQuery(**parse_members(parameters, _PARAMETERS))


def next_history_page(parameters: Mapping[str, str], after: int | None) -> str | None:
    """Return the query string of the next page, or None after the last page."""
    return None if after is None else urlencode({**parameters, "after": after})


def _after(text: str) -> Mapping[str, object]:
    if not (text == "0" or is_id(text)) or int(text) > MAX_SAFE_INTEGER:
        raise ValueError(text)
    return {"after": int(text)}


_REPEATABLE: Mapping[str, Parameter] = {
    "key": KEY,
    "source": SOURCE,
    "operation": alternatives("operations", RecordedOperation, f"use {one_of(RecordedOperation)}"),
}
_PARAMETERS: Mapping[str, Parameter] = {
    **_REPEATABLE,
    "after": Parameter(_after, "use `0` or the sequence number of a record, such as `17`."),
    "limit": LIMIT,
}

HISTORY_NAMES = tuple(_PARAMETERS)
HISTORY_REPEATABLE = tuple(_REPEATABLE)
"""The filters that have several values."""
