"""The query parameters of the history, and the links between its pages."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from recipient_fields.application.fields.references import is_id
from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    HistoryQuery,
    RecordedOperation,
)

from ..parameters import (
    Parameter,
    alternatives,
    key_filter,
    one_of,
    page_size,
    parse_members,
    source_filter,
)


def parse_history_query(parameters: Mapping[str, str]) -> HistoryQuery:
    """Return the query that the parameters describe.

    Raises: RequestRejected as `invalid_parameter` if a value is invalid.
    """
    return HistoryQuery(**parse_members(parameters, HISTORY_PARAMETERS))


def next_history_page(parameters: Mapping[str, str], after: int | None) -> str | None:
    """Return the query string of the next page, or None after the last page."""
    return None if after is None else urlencode({**parameters, "after": after})


def _after(text: str) -> Mapping[str, object]:
    if not (text == "0" or is_id(text)) or int(text) > MAX_SAFE_INTEGER:
        raise ValueError(text)
    return {"after": int(text)}


FIELD_HISTORY_PARAMETERS: Mapping[str, Parameter] = {
    "source": source_filter("Only changes of fields of this source."),
    "operation": alternatives(
        "operations",
        RecordedOperation,
        f"use {one_of(RecordedOperation)}",
        description="Only these operations.",
        schema=RecordedOperation,
    ),
    "after": Parameter(
        description="Only records with a greater sequence number. If such records were removed, the"
        " response is 404 `before_history`. The default is all that are left.",
        schema={"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER},
        parse=_after,
        rule="use `0` or the sequence number of a record, such as `17`.",
    ),
    "limit": page_size("The number of records per page. The default is 100."),
}
"""The query parameters of the history of one field, by name."""
HISTORY_PARAMETERS: Mapping[str, Parameter] = {
    "key": key_filter("Only changes of fields with this key."),
    **FIELD_HISTORY_PARAMETERS,
}
"""The query parameters of the history of all fields, by name."""
