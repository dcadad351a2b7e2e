"""The sessions of administrators, and their sign-in attempts, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from attrs import frozen
from psycopg import Connection

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
    whole_milliseconds,
)

from ..row_mapping import stored_session
from . import administrators
from .columns import from_utc, storable_id
from .transactions import Transactions

_COLUMNS = """
    administrator_sessions.id, administrator_id, digest, user_agent,
    administrator_sessions.created_at AT TIME ZONE 'UTC', last_used_at AT TIME ZONE 'UTC'
"""
_COLUMN_COUNT = 6
_SELECT_ALL = f"""
    SELECT {_COLUMNS} FROM administrator_sessions WHERE administrator_id = %s ORDER BY id
"""
_FIND = f"""
    SELECT {_COLUMNS}, {administrators.COLUMNS}
    FROM administrator_sessions JOIN administrators ON administrators.id = administrator_id
    WHERE digest = %s
"""
# FOR SHARE waits for changes of the account, which delete its sessions, and blocks later ones.
_INSERT = f"""
    INSERT INTO administrator_sessions (
        administrator_id, digest, user_agent, created_at, last_used_at
    )
    SELECT id, %(digest)s, %(user_agent)s, %(at)s, %(at)s
    FROM administrators
    WHERE id = %(administrator_id)s AND password_hash IS NOT DISTINCT FROM %(password_hash)s
    FOR SHARE
    RETURNING {_COLUMNS}
"""
_RECORD_USE = """
    UPDATE administrator_sessions SET last_used_at = %(at)s
    WHERE id = %(id)s AND last_used_at < %(at)s
"""
_DELETE = "DELETE FROM administrator_sessions WHERE id = %s AND administrator_id = %s"
_DELETE_ALL = "DELETE FROM administrator_sessions WHERE administrator_id = %s"
_PURGE = """
    DELETE FROM administrator_sessions WHERE id IN (
        SELECT id FROM administrator_sessions WHERE last_used_at <= %s OR created_at <= %s
        FOR UPDATE SKIP LOCKED
    )
"""
_USE_FORM = """
    INSERT INTO administrator_forms (session_id, digest)
    SELECT id, %s FROM administrator_sessions WHERE id = %s FOR KEY SHARE
    ON CONFLICT (session_id, digest) DO NOTHING
"""
_RELEASE_FORM = "DELETE FROM administrator_forms WHERE session_id = %s AND digest = %s"
_SELECT_REACHED = """
    SELECT ends_at AT TIME ZONE 'UTC' FROM sign_in_attempts
    WHERE subject = %(subject)s AND ends_at > %(at)s AND attempts >= %(limit)s
"""
_DELETE_ENDED = """
    DELETE FROM sign_in_attempts WHERE subject IN (
        SELECT subject FROM sign_in_attempts WHERE ends_at <= %(at)s FOR UPDATE SKIP LOCKED
    )
"""
_COUNT_ATTEMPT = """
    INSERT INTO sign_in_attempts AS stored (subject, ends_at, attempts)
    VALUES (%(subject)s, %(end)s, 1)
    ON CONFLICT (subject) DO UPDATE SET
        ends_at = CASE WHEN stored.ends_at > %(at)s THEN stored.ends_at ELSE %(end)s END,
        attempts = CASE WHEN stored.ends_at > %(at)s THEN stored.attempts + 1 ELSE 1 END
    WHERE stored.ends_at <= %(at)s OR stored.attempts < %(limit)s
"""
_UNCOUNT_ATTEMPT = """
    UPDATE sign_in_attempts SET attempts = attempts - 1
    WHERE subject = %s AND ends_at <= %s AND attempts > 0
"""
_FORGET_ATTEMPTS = "DELETE FROM sign_in_attempts WHERE subject = %s"


@frozen
class PostgresSessionRepository:
    """The sessions in one PostgreSQL database."""

    _database: Transactions

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        values = {
            "administrator_id": storable_id(administrator.id),
            "password_hash": administrator.password_hash,
            "digest": digest,
            "user_agent": clean_user_agent(user_agent),
            "at": whole_milliseconds(at),
        }
        row = self._database.write(lambda c: c.execute(_INSERT, values).fetchone())
        if row is None:
            raise AdministratorNotFound
        return _read_session(row)

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        row = self._database.read(lambda c: c.execute(_FIND, (digest,)).fetchone())
        if row is None:
            return None
        administrator = administrators.read_administrator(row[_COLUMN_COUNT:])
        return SignedInAdministrator(_read_session(row[:_COLUMN_COUNT]), administrator)

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        values = (storable_id(administrator_id),)
        rows = self._database.read(lambda c: c.execute(_SELECT_ALL, values).fetchall())
        return tuple(_read_session(row) for row in rows)

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        values = {"id": storable_id(session_id), "at": whole_milliseconds(at)}
        self._database.write(lambda connection: connection.execute(_RECORD_USE, values))

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        ids = (storable_id(session_id), storable_id(administrator_id))
        return self._database.write(lambda c: c.execute(_DELETE, ids).rowcount == 1)

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        values = (storable_id(administrator_id),)

        def delete_all(connection: Connection[Any]) -> int:
            connection.execute(administrators.LOCK, values)
            return connection.execute(_DELETE_ALL, values).rowcount

        return self._database.write(delete_all)

    def purge(self, at: datetime, /) -> None:
        now = whole_milliseconds(at)
        values = (now - IDLE_TIMEOUT, now - MAX_SESSION_AGE)
        self._database.write(lambda connection: connection.execute(_PURGE, values))

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        values = (digest, storable_id(session_id))
        return self._database.write(lambda c: c.execute(_USE_FORM, values).rowcount == 1)

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        values = (storable_id(session_id), digest)
        self._database.write(lambda connection: connection.execute(_RELEASE_FORM, values))

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        now = whole_milliseconds(at)
        values = {"subject": subject, "at": now, "end": now + window, "limit": limit}

        def reached(connection: Connection[Any]) -> datetime | None:
            row = connection.execute(_SELECT_REACHED, values).fetchone()
            return None if row is None else from_utc(row[0])

        def count(connection: Connection[Any]) -> datetime | None:
            connection.execute(_DELETE_ENDED, values)
            if connection.execute(_COUNT_ATTEMPT, values).rowcount == 1:
                return None
            return reached(connection)

        return self._database.read(reached) or self._database.write(count)

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        values = (subject, whole_milliseconds(at) + window)
        self._database.write(lambda connection: connection.execute(_UNCOUNT_ATTEMPT, values))

    def forget_attempts(self, subject: bytes, /) -> None:
        self._database.write(lambda connection: connection.execute(_FORGET_ATTEMPTS, (subject,)))


def _read_session(row: tuple[Any, ...]) -> Session:
    """Return the session in a row of _COLUMNS."""
    *plain, created_at, last_used_at = row
    values: tuple[Any, ...] = (*plain, from_utc(created_at), from_utc(last_used_at))
    return stored_session(*values)
