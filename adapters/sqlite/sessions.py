"""The sessions of administrators, and their sign-in attempts, in SQLite."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from attrs import frozen

from recipient_fields.application import SessionRepository
from recipient_fields.domain import (
    IDLE_TIMEOUT,
    MAX_SESSION_AGE,
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    Session,
    SessionId,
    SignedInAdministrator,
    clean_user_agent,
    epoch_milliseconds,
    from_epoch_milliseconds,
)

from ..row_mapping import RowMapping, stored_session
from . import administrators
from .columns import storable_id
from .database import Database

_COLUMNS = """
    administrator_sessions.id, administrator_id, digest, user_agent,
    administrator_sessions.created_at, last_used_at
"""
_COLUMN_COUNT = 6
_SELECT_ALL = f"""
    SELECT {_COLUMNS} FROM administrator_sessions WHERE administrator_id = ? ORDER BY id
"""
_FIND = f"""
    SELECT {_COLUMNS}, {administrators.COLUMNS}
    FROM administrator_sessions JOIN administrators ON administrators.id = administrator_id
    WHERE digest = ?
"""
_INSERT = f"""
    INSERT INTO administrator_sessions (
        administrator_id, digest, user_agent, created_at, last_used_at
    )
    SELECT id, :digest, :user_agent, :at, :at
    FROM administrators WHERE id = :administrator_id AND password_hash IS :password_hash
    RETURNING {_COLUMNS}
"""
_RECORD_USE = """
    UPDATE administrator_sessions SET last_used_at = :at WHERE id = :id AND last_used_at < :at
"""
_DELETE = "DELETE FROM administrator_sessions WHERE id = ? AND administrator_id = ?"
_DELETE_ALL = "DELETE FROM administrator_sessions WHERE administrator_id = ?"
_PURGE = "DELETE FROM administrator_sessions WHERE last_used_at <= ? OR created_at <= ?"
_USE_FORM = """
    INSERT INTO administrator_forms (session_id, digest)
    SELECT id, ? FROM administrator_sessions WHERE id = ?
    ON CONFLICT (session_id, digest) DO NOTHING
"""
_RELEASE_FORM = "DELETE FROM administrator_forms WHERE session_id = ? AND digest = ?"
_SELECT_REACHED = """
    SELECT ends_at FROM sign_in_attempts WHERE subject = ? AND ends_at > ? AND attempts >= ?
"""
_DELETE_ENDED = "DELETE FROM sign_in_attempts WHERE ends_at <= ?"
_COUNT_ATTEMPT = """
    INSERT INTO sign_in_attempts (subject, ends_at, attempts) VALUES (?, ?, 1)
    ON CONFLICT (subject) DO UPDATE SET attempts = attempts + 1
"""
_UNCOUNT_ATTEMPT = """
    UPDATE sign_in_attempts SET attempts = attempts - 1
    WHERE subject = ? AND ends_at <= ? AND attempts > 0
"""
_FORGET_ATTEMPTS = "DELETE FROM sign_in_attempts WHERE subject = ?"


@frozen
class SqliteSessionRepository(SessionRepository):
    """The sessions in a SQLite file."""

    _database: Database

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        values = {
            "administrator_id": storable_id(administrator.id),
            "password_hash": administrator.password_hash,
            "digest": digest,
            "user_agent": clean_user_agent(user_agent),
            "at": epoch_milliseconds(at),
        }
        with self._database.writing() as connection:
            row = connection.execute(_INSERT, values).fetchone()
            if row is None:
                raise AdministratorNotFound
            return _read_session(row)

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        with self._database.reading() as connection:
            row = connection.execute(_FIND, (digest,)).fetchone()
            if row is None:
                return None
            administrator = administrators.read_administrator(row[_COLUMN_COUNT:])
            return SignedInAdministrator(_read_session(row[:_COLUMN_COUNT]), administrator)

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(_SELECT_ALL, (storable_id(administrator_id),))
            return tuple(_read_session(row) for row in rows)

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        values = {"id": storable_id(session_id), "at": epoch_milliseconds(at)}
        with self._database.writing() as connection:
            connection.execute(_RECORD_USE, values)

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        ids = (storable_id(session_id), storable_id(administrator_id))
        with self._database.writing() as connection:
            return connection.execute(_DELETE, ids).rowcount == 1

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        with self._database.writing() as connection:
            return connection.execute(_DELETE_ALL, (storable_id(administrator_id),)).rowcount

    def purge(self, at: datetime, /) -> None:
        last = epoch_milliseconds(at - IDLE_TIMEOUT), epoch_milliseconds(at - MAX_SESSION_AGE)
        with self._database.writing() as connection:
            connection.execute(_PURGE, last)

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        with self._database.writing() as connection:
            return connection.execute(_USE_FORM, (digest, storable_id(session_id))).rowcount == 1

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        with self._database.writing() as connection:
            connection.execute(_RELEASE_FORM, (storable_id(session_id), digest))

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        now, values = epoch_milliseconds(at), (subject, epoch_milliseconds(at), limit)
        with self._database.reading() as connection:
            reached = connection.execute(_SELECT_REACHED, values).fetchone()
        if reached is None:
            with self._database.writing() as connection:
                connection.execute(_DELETE_ENDED, (now,))
                reached = connection.execute(_SELECT_REACHED, values).fetchone()
                if reached is None:
                    connection.execute(_COUNT_ATTEMPT, (subject, epoch_milliseconds(at + window)))
        return None if reached is None else from_epoch_milliseconds(reached[0])

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        with self._database.writing() as connection:
            connection.execute(_UNCOUNT_ATTEMPT, (subject, epoch_milliseconds(at + window)))

    def forget_attempts(self, subject: bytes, /) -> None:
        with self._database.writing() as connection:
            connection.execute(_FORGET_ATTEMPTS, (subject,))


def _read_session(row: tuple[Any, ...]) -> Session:
    """Return the session of a row of _COLUMNS."""
    *plain, created_at, last_used_at = row
    with RowMapping("administrator_sessions", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            from_epoch_milliseconds(last_used_at),
        )
    return stored_session(*values)
