"""The statements of the organizations of API keys on Citus."""

from __future__ import annotations

from ...relational.statements import SQL, Statements

CITUS_SQL = Statements(__package__, SQL)
