"""The parts of SQL that databases write differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias


class Dialect(Protocol):
    """The SQL of one database. Each method returns a part of a statement."""

    def milliseconds(self, column: str) -> str:
        """Return the result column of a time, in milliseconds since 1970."""

    def json(self, column: str) -> str:
        """Return the result column of a JSON document, as text."""

    def folded(self, column: str) -> str:
        """Return the text of this column after case folding, as `fold_case` does it."""

    def contains(self, text: str, part: str) -> str:
        """Return the condition that a text contains another one."""

    def same(self, left: str, right: str) -> str:
        """Return the condition that two values are equal, or both NULL."""

    def one_of(self, column: str, values: str) -> str:
        """Return the condition that the column has one of these values, which are a list."""

    def stored_bytes(self, column: str) -> str:
        """Return the size of a JSON document as it is stored, which can be compressed."""

    def without(self, document: str, members: Sequence[str]) -> str:
        """Return the result column of a JSON document, as text, in which these members are null."""

    def text_bytes(self, column: str) -> str:
        """Return the number of bytes of a text in UTF-8."""

    def pairs(self, first: str, second: str) -> str:
        """Return a table of two lists of texts. Its columns are `first` and `second`."""

    def joined(self, text: str) -> str:
        """Return the aggregate that joins a text of each row with commas."""

    def lock(self, strength: str) -> str:
        """Return the clause that locks the selected rows, such as `FOR UPDATE`.

        It is empty if a transaction that writes already locks all rows.
        """


Statement: TypeAlias = Callable[[Dialect], str]
"""Returns the SQL of a statement. In it, `:name` is the value with this name."""
