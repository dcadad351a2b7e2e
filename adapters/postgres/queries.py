"""The SQL of a FieldQuery."""

from __future__ import annotations

from collections.abc import Mapping

from recipient_fields.domain import FieldQuery, OrganizationId

from ..relational.columns import storable_id

_CONTAINS_TEXT = """(
    strpos(folded_name, %(text)s) > 0
    OR strpos(key, %(text)s) > 0
    OR strpos(folded_esp_field_name, %(text)s) > 0
)"""


def select_statement(columns: str, query: FieldQuery) -> str:
    """Return the statement that selects the rows of a page, and one more if another page follows.

    Each row starts with the catalog's revision and the number of matches on all pages. If the page
    is empty, there is one row, whose other columns are NULL. One statement reads one snapshot.
    """
    matches = " AND ".join(["WHERE organization_id = %(organization_id)s", *_conditions(query)])
    column = query.sort.value
    direction, operator = ("DESC", "<") if query.descending else ("ASC", ">")
    rest = matches
    if query.after is not None:
        rest += (
            f" AND ({column} {operator} %(after_value)s"
            f" OR ({column} = %(after_value)s AND id > %(after_id)s))"
        )
    return f"""
        SELECT revision, (SELECT count(*) FROM recipient_fields {matches}), page.*
        FROM organizations LEFT JOIN (
            SELECT {columns} FROM recipient_fields {rest}
            ORDER BY {column} {direction}, id LIMIT %(row_limit)s
        ) AS page ON true
        WHERE organizations.id = %(organization_id)s
        ORDER BY page.{column} {direction}, page.id
    """


def bind(organization_id: OrganizationId, query: FieldQuery) -> Mapping[str, object]:
    """Return the values of the placeholders in the statement."""
    values: dict[str, object] = {
        "organization_id": storable_id(organization_id),
        "sources": [source.value for source in query.sources or ()],
        "data_types": [data_type.value for data_type in query.data_types or ()],
        "keys": list(query.keys or ()),
        "integration_ids": list(query.integration_ids or ()),
        "insertable": query.insertable,
        "text": query.folded_text,
        "row_limit": None if query.limit is None else query.limit + 1,
    }
    if query.after is not None:
        values |= {"after_value": query.after.value, "after_id": query.after.id}
    return values


def _conditions(query: FieldQuery) -> list[str]:
    filters = {
        "source = ANY(%(sources)s)": query.sources,
        "data_type = ANY(%(data_types)s)": query.data_types,
        "key = ANY(%(keys)s)": query.keys,
        "integration_id = ANY(%(integration_ids)s)": query.integration_ids,
        "insertable = %(insertable)s": query.insertable,
        _CONTAINS_TEXT: query.text,
    }
    return [condition for condition, value in filters.items() if value is not None]
