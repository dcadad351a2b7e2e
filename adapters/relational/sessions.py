"""The sessions of administrators, and their sign-in attempts, in a database."""

from __future__ import annotations

from datetime import datetime, timedelta

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

from ..row_mapping import stored_session
from .administrators import read_administrator
from .database import Connection, Database, Row, id_values, storable_id, with_instants
from .statements import SQL

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
        row = self._database.write(lambda c: c.one(SQL.insert_session, values))
        if row is None:
            raise AdministratorNotFound
        return _read_session(row)

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        row = self._database.read(lambda c: c.one(SQL.select_session, {"digest": digest}))
        if row is None:
            return None
        administrator = read_administrator(row[_COLUMN_COUNT:])
        return SignedInAdministrator(_read_session(row[:_COLUMN_COUNT]), administrator)

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        values = id_values(administrator_id=administrator_id)
        rows = self._database.read(lambda c: c.all(SQL.select_sessions, values))
        return tuple(_read_session(row) for row in rows)

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        values = {"session_id": storable_id(session_id), "at": at}
        self._database.write(lambda c: c.execute(SQL.record_session_use, values))

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        values = id_values(session_id=session_id, administrator_id=administrator_id)
        return self._database.write(lambda c: c.execute(SQL.delete_session, values)) == 1

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        values = id_values(administrator_id=administrator_id)

        def delete_all(connection: Connection) -> int:
            connection.all(SQL.lock_account, values)
            return connection.execute(SQL.delete_sessions, values)

        return self._database.write(delete_all)

    def purge(self, at: datetime, /) -> None:
        now = whole_milliseconds(at)
        values = {"last_use": now - IDLE_TIMEOUT, "beginning": now - MAX_SESSION_AGE}
        self._database.write(lambda c: c.execute(SQL.delete_inactive_sessions, values))

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        values = {"session_id": storable_id(session_id), "digest": digest}
        return self._database.write(lambda c: c.execute(SQL.insert_form, values)) == 1

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        values = {"session_id": storable_id(session_id), "digest": digest}
        self._database.write(lambda c: c.execute(SQL.delete_form, values))

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        now = whole_milliseconds(at)
        ended = {"at": now}
        reached = {"subject": subject, "at": now, "attempt_limit": limit}
        counted = {**reached, "end": now + window}

        def find_end(connection: Connection) -> datetime | None:
            row = connection.one(SQL.select_reached_limit, reached)
            return None if row is None else from_epoch_milliseconds(row[0])

        def count(connection: Connection) -> datetime | None:
            connection.execute(SQL.delete_ended_attempts, ended)
            if connection.execute(SQL.count_attempt, counted) == 1:
                return None
            return find_end(connection)

        return self._database.read(find_end) or self._database.write(count)

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        values = {"subject": subject, "end": whole_milliseconds(at) + window}
        self._database.write(lambda c: c.execute(SQL.uncount_attempt, values))

    def forget_attempts(self, subject: bytes, /) -> None:
        self._database.write(lambda c: c.execute(SQL.delete_attempts, {"subject": subject}))


def _read_session(row: Row) -> Session:
    """Return the session in a row of `session_columns`."""
    return stored_session(*with_instants("administrator_sessions", row, 4, 5))
