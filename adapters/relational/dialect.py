"""The fragments of SQL that databases write differently.

Each method of a dialect returns the fragment with its name, for the arguments that are written in
the statement.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recipient_fields.domain import FIELD_MEMBERS

from ..row_mapping import FIELD_COLUMNS, LARGE_MEMBERS

SHARED = frozenset({"organization_id", "author", "occurred_at", "last_sequence"})
"""The columns that have one value in all rows of a change."""


class Dialect(Protocol):
    """The SQL of one database."""

    def milliseconds(self, column: str) -> str:
        """Return the result column of a time, in milliseconds since 1970."""

    def instant(self, name: str) -> str:
        """Return the value of a time that a statement gets in milliseconds since 1970."""

    def json(self, column: str) -> str:
        """Return the result column of a JSON document, as text."""

    def small(self, document: str) -> str:
        """Return the result column of a field's JSON document without its large members."""

    def by_id(self) -> str:
        """Return the clause after a table by which its rows are found by their ids."""

    def any(self, column: str, values: str) -> str:
        """Return the condition that the column has one of these values, which are a list."""

    def folded(self, column: str) -> str:
        """Return the text of this column after case folding, as `fold_case` does it."""

    def contains(self, text: str, part: str) -> str:
        """Return the condition that a text contains another one."""

    def stored_bytes(self, column: str) -> str:
        """Return the size of a JSON document as it is stored, which can be compressed."""

    def text_bytes(self, column: str) -> str:
        """Return the number of bytes of a text in UTF-8."""

    def joined(self, text: str) -> str:
        """Return the aggregate that joins a text of each row with commas."""

    def lock(self, strength: str) -> str:
        """Return the clause that locks the selected rows, such as `FOR UPDATE`.

        It is empty if a transaction that writes already locks all rows.
        """

    def next_field_id(self) -> str:
        """Return the expression of the id of the next field.

        It is the greatest id if the role may not read it.
        """

    def overriding(self) -> str:
        """Return the clause of an INSERT that permits ids which the database has not assigned."""

    def field_row(self) -> str:
        """Return the columns of a field that a statement inserts, except both ids."""

    def values(self, *columns: str) -> str:
        """Return what an INSERT inserts for each row of `Connection.store`: these columns.

        Those of SHARED are values that the rows share.
        """

    def rows(self, *columns: str) -> str:
        """Return the table `change`, which has these columns of the rows of `Connection.store`."""

    def matching(self, column: str) -> str:
        """Return the condition that the column has the value of a row of `Connection.store`."""

    def assignments(self, *columns: str) -> str:
        """Return the assignments of columns of the table `change` to those of a field."""

    def field_columns(self) -> str:
        """Return the columns of a field, which `read_field` expects."""
        return ", ".join(map(self._selected, FIELD_COLUMNS))

    def small_field_columns(self) -> str:
        """Return the same columns, in which the large ones are NULL."""
        nulls = {each: f"NULL AS {each}" for each in LARGE_MEMBERS}
        return ", ".join(nulls.get(each) or self._selected(each) for each in FIELD_COLUMNS)

    def _selected(self, column: str) -> str:
        if column in _TIMES:
            return self.milliseconds(column)
        return self.json(column) if column == "allowed_values" else column


_TIMES = {each.name for each in FIELD_MEMBERS if each.kind is datetime}
