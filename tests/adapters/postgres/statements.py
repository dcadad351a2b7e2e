"""The SQL that the adapter executes: each use of these tables must name the organization."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import psycopg

from recipient_fields.adapters.postgres.connection import DeadlineConnection, LongRunningConnection

_TABLE = "(?:recipient_field(?:s|_changes|_values)|integrations)"
_MENTION = re.compile(rf"\b{_TABLE}\b", re.IGNORECASE)
_USE = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO|TABLE|ONLY|,)\s+{_TABLE}\b", re.IGNORECASE)
_FILTER = re.compile(r"\bWHERE\s+organization_id = %\(organization_id\)s", re.IGNORECASE)
_INSERT = re.compile(
    rf"\bINTO\s+{_TABLE}\s*\(\s*organization_id\b.*?\b(?:SELECT\s+|VALUES\s*\(\s*)%\(organization_id\)s",
    re.IGNORECASE | re.DOTALL,
)


class Statements(set[str]):
    """The SQL texts that storages executed."""

    @contextmanager
    def collected(self) -> Iterator[Statements]:
        """Check and collect each text that is executed in the block."""
        with ExitStack() as patches:
            for method in ("execute", "executemany"):
                judged = self._judged(getattr(psycopg.Cursor, method))
                patches.enter_context(patch.object(psycopg.Cursor, method, judged))
            yield self

    def _judged(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def executed(cursor: psycopg.Cursor[Any], query: Any, *values: Any, **options: Any) -> Any:
            connection = cursor.connection
            if isinstance(connection, DeadlineConnection) and not _copies_everything(connection):
                assert names_its_organization(query), query
                self.add(query)
            return execute(cursor, query, *values, **options)

        return executed


def _copies_everything(connection: DeadlineConnection) -> bool:
    """Return whether this connection serves a copy of the whole storage."""
    return isinstance(connection, LongRunningConnection)


def names_its_organization(statement: str) -> bool:
    """Return whether each use of fields, records or integrations is of one organization."""
    mentions = len(_MENTION.findall(statement))
    uses = len(_USE.findall(statement))
    bound = len(_FILTER.findall(statement)) + len(_INSERT.findall(statement))
    return mentions == 0 or mentions == uses == bound
