"""The sessions of administrators in memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import RLock

from attrs import Factory, define, evolve

from recipient_fields.application import SessionRepository
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    Session,
    SessionId,
    SignedInAdministrator,
)

from .records import Table


@define(slots=False, eq=False)
class MemorySessionRepository(SessionRepository):
    """The sessions in memory, by ascending id."""

    _lock: RLock
    _accounts: Table[Administrator]
    _sessions: Table[Session] = Factory(Table)
    _forms: set[tuple[SessionId, bytes]] = Factory(set)
    _attempts: dict[bytes, tuple[datetime, int]] = Factory(dict)
    """The end of the window and the number of attempts, by subject."""

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        with self._lock:
            account = self._accounts.rows.get(administrator.id)
            if account is None or account.password_hash != administrator.password_hash:
                raise AdministratorNotFound
            session = Session(
                id=SessionId(self._sessions.assign_id()),
                administrator_id=administrator.id,
                digest=digest,
                created_at=at,
                last_used_at=at,
                user_agent=user_agent,
            )
            return self._sessions.put(session)

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        with self._lock:
            for session in self._sessions.rows.values():
                if session.digest == digest:
                    return SignedInAdministrator(
                        session, self._accounts.rows[session.administrator_id]
                    )
            return None

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        with self._lock:
            sessions = self._sessions.rows.values()
            return tuple(each for each in sessions if each.administrator_id == administrator_id)

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        with self._lock:
            session = self._sessions.rows.get(session_id)
            if session is not None and session.last_used_at < at:
                self._sessions.put(evolve(session, last_used_at=at))

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        with self._lock:
            session = self._sessions.rows.get(session_id)
            if session is None or session.administrator_id != administrator_id:
                return False
            del self._sessions.rows[session_id]
            self._forms = {form for form in self._forms if form[0] != session_id}
            return True

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        with self._lock:
            ended = self.all(administrator_id)
            return sum(self.delete(administrator_id, session.id) for session in ended)

    def purge(self, at: datetime, /) -> None:
        with self._lock:
            for session in tuple(self._sessions.rows.values()):
                if not session.is_active(at):
                    self.delete(session.administrator_id, session.id)

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        with self._lock:
            form = session_id, digest
            if session_id not in self._sessions.rows or form in self._forms:
                return False
            self._forms.add(form)
            return True

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        with self._lock:
            self._forms.discard((session_id, digest))

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        with self._lock:
            end, attempts = self._attempts.get(subject, (at, 0))
            if end <= at:
                self._attempts = {s: a for s, a in self._attempts.items() if a[0] > at}
                end, attempts = at + window, 0
            if attempts >= limit:
                return end
            self._attempts[subject] = end, attempts + 1
            return None

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        with self._lock:
            end, attempts = self._attempts.get(subject, (at, 0))
            if attempts > 0 and end <= at + window:
                self._attempts[subject] = end, attempts - 1

    def forget_attempts(self, subject: bytes, /) -> None:
        with self._lock:
            self._attempts.pop(subject, None)
