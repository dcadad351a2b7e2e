"""The sessions of administrators, and their sign-in attempts, in a database."""

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
    from_epoch_milliseconds,
    whole_milliseconds,
)

from ..row_mapping import RowMapping, stored_session
from .administrators import (
    administrator_columns,
    delete_sessions,
    lock_account,
    read_administrator,
)
from .columns import storable_id
from .database import Connection, Database, Row
from .dialect import Dialect

_COLUMN_COUNT = 6


@frozen
class RelationalSessionRepository(SessionRepository):
    """The sessions in one database."""

    _database: Database

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        values = {
            "administrator_id": storable_id(administrator.id),
            "password_hash": administrator.password_hash,
            "digest": digest,
            "user_agent": clean_user_agent(user_agent),
            "at": at,
        }
        row = self._database.write(lambda c: c.one(insert_session, values))
        if row is None:
            raise AdministratorNotFound
        return _read_session(row)

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        row = self._database.read(lambda c: c.one(select_session, {"digest": digest}))
        if row is None:
            return None
        administrator = read_administrator(row[_COLUMN_COUNT:])
        return SignedInAdministrator(_read_session(row[:_COLUMN_COUNT]), administrator)

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        values = {"administrator_id": storable_id(administrator_id)}
        rows = self._database.read(lambda c: c.all(select_sessions, values))
        return tuple(_read_session(row) for row in rows)

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        values = {"session_id": storable_id(session_id), "at": at}
        self._database.write(lambda c: c.execute(record_session_use, values))

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        values = {
            "session_id": storable_id(session_id),
            "administrator_id": storable_id(administrator_id),
        }
        return self._database.write(lambda c: c.execute(delete_session, values)) == 1

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        values = {"administrator_id": storable_id(administrator_id)}

        def delete_all(connection: Connection) -> int:
            connection.lock(lock_account, values)
            return connection.execute(delete_sessions, values)

        return self._database.write(delete_all)

    def purge(self, at: datetime, /) -> None:
        now = whole_milliseconds(at)
        values = {"last_use": now - IDLE_TIMEOUT, "beginning": now - MAX_SESSION_AGE}
        self._database.write(lambda c: c.execute(delete_inactive_sessions, values))

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        values = {"session_id": storable_id(session_id), "digest": digest}
        return self._database.write(lambda c: c.execute(insert_form, values)) == 1

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        values = {"session_id": storable_id(session_id), "digest": digest}
        self._database.write(lambda c: c.execute(delete_form, values))

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        now = whole_milliseconds(at)
        ended = {"at": now}
        reached = {"subject": subject, "at": now, "attempt_limit": limit}
        counted = {**reached, "end": now + window}

        def find_end(connection: Connection) -> datetime | None:
            row = connection.one(select_reached_limit, reached)
            return None if row is None else from_epoch_milliseconds(row[0])

        def count(connection: Connection) -> datetime | None:
            connection.execute(delete_ended_attempts, ended)
            if connection.execute(count_attempt, counted) == 1:
                return None
            return find_end(connection)

        return self._database.read(find_end) or self._database.write(count)

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        values = {"subject": subject, "end": whole_milliseconds(at) + window}
        self._database.write(lambda c: c.execute(uncount_attempt, values))

    def forget_attempts(self, subject: bytes, /) -> None:
        self._database.write(lambda c: c.execute(delete_attempts, {"subject": subject}))


def _read_session(row: Row) -> Session:
    """Return the session in a row of `session_columns`."""
    *plain, created_at, last_used_at = row
    with RowMapping("administrator_sessions", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            from_epoch_milliseconds(last_used_at),
        )
    return stored_session(*values)


def session_columns(sql: Dialect) -> str:
    """Return the columns of a session."""
    return f"""
        administrator_sessions.id, administrator_id, digest, user_agent,
        {sql.milliseconds("administrator_sessions.created_at")},
        {sql.milliseconds("last_used_at")}
    """


def select_sessions(sql: Dialect) -> str:
    """Select the sessions of an account by ascending id."""
    return f"""
        SELECT {session_columns(sql)} FROM administrator_sessions
        WHERE administrator_id = :administrator_id ORDER BY id
    """


def select_session(sql: Dialect) -> str:
    """Select the session with this digest, and its administrator."""
    return f"""
        SELECT {session_columns(sql)}, {administrator_columns(sql)}
        FROM administrator_sessions JOIN administrators ON administrators.id = administrator_id
        WHERE digest = :digest
    """


def insert_session(sql: Dialect) -> str:
    """Insert a session if the account has this password hash, and return its row.

    The lock waits for changes of the account, which delete its sessions, and blocks later ones.
    """
    return f"""
        INSERT INTO administrator_sessions (
            administrator_id, digest, user_agent, created_at, last_used_at
        )
        SELECT id, :digest, :user_agent, :at, :at
        FROM administrators
        WHERE id = :administrator_id AND {sql.same("password_hash", ":password_hash")}
        {sql.lock("SHARE")}
        RETURNING {session_columns(sql)}
    """


def record_session_use(_: Dialect) -> str:
    """Store the time of the last use of a session, unless a later one is stored."""
    return """
        UPDATE administrator_sessions SET last_used_at = :at
        WHERE id = :session_id AND last_used_at < :at
    """


def delete_session(_: Dialect) -> str:
    """Delete a session of an account."""
    return """
        DELETE FROM administrator_sessions
        WHERE id = :session_id AND administrator_id = :administrator_id
    """


def delete_inactive_sessions(sql: Dialect) -> str:
    """Delete the sessions that were last used or began at these times, or earlier."""
    return f"""
        DELETE FROM administrator_sessions WHERE id IN (
            SELECT id FROM administrator_sessions
            WHERE last_used_at <= :last_use OR created_at <= :beginning
            {sql.lock("UPDATE SKIP LOCKED")}
        )
    """


def insert_form(sql: Dialect) -> str:
    """Insert the use of a form by a session, unless it is stored."""
    return f"""
        INSERT INTO administrator_forms (session_id, digest)
        SELECT id, :digest FROM administrator_sessions WHERE id = :session_id
        {sql.lock("KEY SHARE")}
        ON CONFLICT (session_id, digest) DO NOTHING
    """


def delete_form(_: Dialect) -> str:
    """Delete the use of a form by a session."""
    return "DELETE FROM administrator_forms WHERE session_id = :session_id AND digest = :digest"


def select_reached_limit(sql: Dialect) -> str:
    """Select the end of the window of a subject that has reached the limit of attempts."""
    return f"""
        SELECT {sql.milliseconds("ends_at")} FROM sign_in_attempts
        WHERE subject = :subject AND ends_at > :at AND attempts >= :attempt_limit
    """


def delete_ended_attempts(sql: Dialect) -> str:
    """Delete the attempts of all subjects whose window has ended."""
    return f"""
        DELETE FROM sign_in_attempts WHERE subject IN (
            SELECT subject FROM sign_in_attempts WHERE ends_at <= :at
            {sql.lock("UPDATE SKIP LOCKED")}
        )
    """


def count_attempt(_: Dialect) -> str:
    """Count an attempt of a subject, unless it has reached the limit. Begin a window if needed."""
    return """
        INSERT INTO sign_in_attempts AS stored (subject, ends_at, attempts)
        VALUES (:subject, :end, 1)
        ON CONFLICT (subject) DO UPDATE SET
            ends_at = CASE WHEN stored.ends_at > :at THEN stored.ends_at ELSE :end END,
            attempts = CASE WHEN stored.ends_at > :at THEN stored.attempts + 1 ELSE 1 END
        WHERE stored.ends_at <= :at OR stored.attempts < :attempt_limit
    """


def uncount_attempt(_: Dialect) -> str:
    """Undo the count of an attempt in a window that ends at this time, or earlier."""
    return """
        UPDATE sign_in_attempts SET attempts = attempts - 1
        WHERE subject = :subject AND ends_at <= :end AND attempts > 0
    """


def delete_attempts(_: Dialect) -> str:
    """Delete the attempts of a subject."""
    return "DELETE FROM sign_in_attempts WHERE subject = :subject"
