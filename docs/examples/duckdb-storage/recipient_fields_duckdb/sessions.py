"""Store the sessions of administrators and their sign-in attempts in DuckDB."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from attrs import frozen

from recipient_fields.adapters.row_mapping import stored_session
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    Session,
    SessionId,
    SignedInAdministrator,
    clean_user_agent,
    epoch_milliseconds,
)

from .administrators import COLUMNS, read_administrator
from .database import Connection, Database, insert, instant, next_id

# The columns have the order of `SESSION_COLUMNS`.
_COLUMNS = """
    administrator_sessions.id, administrator_id, digest, user_agent,
    administrator_sessions.created_at, last_used_at
"""
_SELECT = f"SELECT {_COLUMNS} FROM administrator_sessions"
_FIND = f"""
    SELECT {_COLUMNS}, {COLUMNS}
    FROM administrator_sessions JOIN administrators ON administrators.id = administrator_id
    WHERE digest = ?
"""
_IS_CURRENT = """
    SELECT 1 FROM administrators WHERE id = ? AND password_hash IS NOT DISTINCT FROM ?
"""


@frozen
class DuckdbSessionRepository:
    """The SessionRepository of DuckDB."""

    _database: Database

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        with self._database.writing() as connection:
            current = [administrator.id, administrator.password_hash]
            if connection.execute(_IS_CURRENT, current).fetchone() is None:
                raise AdministratorNotFound
            session_id = SessionId(next_id(connection, "session_ids"))
            row = {
                "id": session_id,
                "administrator_id": administrator.id,
                "digest": digest,
                "user_agent": clean_user_agent(user_agent),
                "created_at": epoch_milliseconds(at),
                "last_used_at": epoch_milliseconds(at),
            }
            insert(connection, "administrator_sessions", row)
            return _session(tuple(row.values()))

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        with self._database.reading() as connection:
            row = connection.execute(_FIND, [digest]).fetchone()
            if row is None:
                return None
            return SignedInAdministrator(_session(row[:6]), read_administrator(row[6:]))

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        with self._database.reading() as connection:
            ours = f"{_SELECT} WHERE administrator_id = ? ORDER BY id"
            return tuple(map(_session, connection.execute(ours, [administrator_id]).fetchall()))

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE administrator_sessions SET last_used_at = greatest(last_used_at, ?)"
                " WHERE id = ?",
                [epoch_milliseconds(at), session_id],
            )

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        one = "id = ? AND administrator_id = ?"
        with self._database.writing() as connection:
            return _delete(connection, one, session_id, administrator_id) == 1

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        with self._database.writing() as connection:
            return _delete(connection, "administrator_id = ?", administrator_id)

    def purge(self, at: datetime, /) -> None:
        with self._database.writing() as connection:
            sessions = map(_session, connection.execute(_SELECT).fetchall())
            for session in sessions:
                if not session.is_active(at):
                    _delete(connection, "id = ?", session.id)

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        row = {"session_id": session_id, "digest": digest}
        with self._database.writing() as connection:
            session = "SELECT 1 FROM administrator_sessions WHERE id = ?"
            used = "SELECT 1 FROM administrator_forms WHERE session_id = ? AND digest = ?"
            if connection.execute(session, [session_id]).fetchone() is None:
                return False
            if connection.execute(used, [session_id, digest]).fetchone() is not None:
                return False
            insert(connection, "administrator_forms", row)
            return True

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM administrator_forms WHERE session_id = ? AND digest = ?",
                [session_id, digest],
            )

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        with self._database.reading() as connection:
            end, attempts = _attempts(connection, subject, at)
        if end is not None and attempts >= limit:
            return end
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM sign_in_attempts WHERE ends_at <= ?", [epoch_milliseconds(at)]
            )
            end, attempts = _attempts(connection, subject, at)
            if end is None:
                ends_at = epoch_milliseconds(at + window)
                row = {"subject": subject, "ends_at": ends_at, "attempts": 1}
                insert(connection, "sign_in_attempts", row)
                return None
            if attempts >= limit:
                return end
            connection.execute(
                "UPDATE sign_in_attempts SET attempts = attempts + 1 WHERE subject = ?", [subject]
            )
            return None

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE sign_in_attempts SET attempts = attempts - 1"
                " WHERE subject = ? AND ends_at <= ? AND attempts > 0",
                [subject, epoch_milliseconds(at + window)],
            )

    def forget_attempts(self, subject: bytes, /) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sign_in_attempts WHERE subject = ?", [subject])


def _attempts(connection: Connection, subject: bytes, at: datetime) -> tuple[datetime | None, int]:
    """Return the end of the subject's window, or None, and the number of attempts in it."""
    row = connection.execute(
        "SELECT ends_at, attempts FROM sign_in_attempts WHERE subject = ? AND ends_at > ?",
        [subject, epoch_milliseconds(at)],
    ).fetchone()
    return (None, 0) if row is None else (instant(row[0]), row[1])


def _delete(connection: Connection, condition: str, *ids: int) -> int:
    """Delete sessions with their forms, and return their number."""
    sessions = f"FROM administrator_sessions WHERE {condition}"
    connection.execute(
        f"DELETE FROM administrator_forms WHERE session_id IN (SELECT id {sessions})", ids
    )
    (deleted,) = connection.execute(f"DELETE {sessions}", ids).fetchone() or (0,)
    return int(deleted)


def _session(row: tuple[Any, ...]) -> Session:
    return stored_session(*row[:4], *map(instant, row[4:]))
