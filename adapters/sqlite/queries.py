"""The SQL of a FieldQuery and of a HistoryQuery."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from recipient_fields.domain import (
    FieldQuery,
    HistoryQuery,
    OrganizationId,
    SortKey,
    SortValue,
    epoch_milliseconds,
    fold_case,
)

_SORT_COLUMNS = {
    SortKey.ID: "id",
    SortKey.KEY: "key",
    SortKey.NAME: "name",
    SortKey.CREATED_AT: "created_at",
    SortKey.UPDATED_AT: "updated_at",
}
_MATCHES = """
    FROM recipient_fields
    WHERE organization_id = :organization_id
    AND (:sources IS NULL OR source IN (SELECT value FROM json_each(:sources)))
    AND (:data_types IS NULL OR data_type IN (SELECT value FROM json_each(:data_types)))
    AND (:keys IS NULL OR key IN (SELECT value FROM json_each(:keys)))
    AND (
        :integration_ids IS NULL
        OR integration_id IN (SELECT value FROM json_each(:integration_ids))
    )
    AND (:insertable IS NULL OR insertable = :insertable)
    AND (
        :text IS NULL
        OR instr(fold_case(name), :text)
        OR instr(fold_case(key), :text)
        OR instr(fold_case(esp_field_name), :text)
    )
"""
COUNT = f"SELECT count(*) {_MATCHES}"
"""The statement that counts the fields on all pages."""


def provide_functions(connection: sqlite3.Connection) -> None:
    """Add the functions of the statements to the connection. SQLite folds ASCII letters only."""
    connection.create_function(
        "fold_case", 1, lambda text: None if text is None else fold_case(text), deterministic=True
    )


def select_statement(columns: str, query: FieldQuery) -> str:
    """Return the statement that selects the page's rows, and one more if there is a next page."""
    column = _SORT_COLUMNS[query.sort]
    direction, operator = ("DESC", "<") if query.descending else ("ASC", ">")
    return (
        f"SELECT {columns} {_MATCHES}"
        f" AND (:after_id IS NULL OR {column} {operator} :after_value"
        f"      OR ({column} = :after_value AND id > :after_id))"
        f" ORDER BY {column} {direction}, id LIMIT :row_limit"
    )


def bind(organization_id: OrganizationId, query: FieldQuery) -> Mapping[str, object]:
    """Return the parameters of both statements."""
    after = query.after
    return {
        "organization_id": organization_id,
        "sources": _array(query.sources and {source.value for source in query.sources}),
        "data_types": _array(query.data_types and {kind.value for kind in query.data_types}),
        "keys": _array(query.keys),
        "integration_ids": _array(query.integration_ids),
        "insertable": query.insertable,
        "text": query.folded_text,
        "after_value": None if after is None else _value(after.value),
        "after_id": None if after is None else after.id,
        "row_limit": -1 if query.limit is None else query.limit + 1,
    }


def select_history(
    columns: str, organization_id: OrganizationId, query: HistoryQuery
) -> tuple[str, list[object]]:
    """Return the statement that selects the page's records, and its parameters.

    It selects one more record if there is a next page. With one id or key, it uses an index.
    """
    direction, operator = ("DESC", "<") if query.descending else ("ASC", ">")
    conditions = ["organization_id = ?"]
    values: list[object] = [organization_id]
    for column, alternatives in (
        ("field_id", query.field_ids),
        ("key", query.keys),
        ("source", query.sources and {source.value for source in query.sources}),
        ("operation", query.operations and {each.value for each in query.operations}),
    ):
        if alternatives is not None and len(alternatives) == 1:
            conditions.append(f"{column} = ?")
            values.extend(alternatives)
        elif alternatives is not None:
            conditions.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(_array(alternatives))
    if query.after is not None:
        conditions.append(f"sequence {operator} ?")
        values.append(query.after)
    return (
        f"SELECT {columns} FROM recipient_field_changes WHERE {' AND '.join(conditions)}"
        f" ORDER BY sequence {direction} LIMIT ?"
    ), [*values, query.limit + 1]


def _value(value: SortValue) -> int | str:
    return value if isinstance(value, int | str) else epoch_milliseconds(value)


def _array(values: Iterable[object] | None) -> str | None:
    return None if values is None else json.dumps(list(values))
