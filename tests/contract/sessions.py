"""Cases for each method of SessionRepository."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256

import pytest
from attrs import evolve

from recipient_fields.application import ConsoleStorage, SessionRepository
from recipient_fields.domain import (
    IDLE_TIMEOUT,
    MAX_SESSION_AGE,
    MILLISECOND,
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    OrganizationId,
    Role,
    Session,
    SessionId,
    SignedInAdministrator,
)

from .assertions import exact
from .concurrency import race
from .examples import (
    INSTANTS,
    LATER,
    LINES,
    NEVER_ASSIGNED,
    NOW,
    a_digest,
    grant,
    in_pairs,
    permit_change,
    set_password_hash,
)

WINDOW = timedelta(minutes=15)


class SessionCases:
    """Cases for sessions, the forms that they use, and sign-in attempts."""

    @pytest.fixture
    def eve(self, storage: ConsoleStorage, ours: OrganizationId) -> Administrator:
        """Return another administrator of the same organization."""
        return grant(storage.administrators, ours, f"eve@{ours}.example")

    @pytest.fixture
    def session(self, sessions: SessionRepository, dana: Administrator) -> Session:
        """Return an active session."""
        return sessions.add(dana, a_digest(), NOW, "Firefox")

    @pytest.fixture
    def subject(self, ours: OrganizationId) -> bytes:
        """Return a subject without attempts."""
        return sha256(str(ours).encode()).digest()

    @in_pairs(at=INSTANTS, user_agent=[*LINES.values(), ""])
    def test_a_new_session_is_stored_unchanged(
        self, sessions: SessionRepository, dana: Administrator, at: datetime, user_agent: str
    ) -> None:
        digest = a_digest()
        added = sessions.add(dana, digest, at, user_agent)
        expected = Session(
            id=added.id,
            administrator_id=dana.id,
            digest=digest,
            created_at=at,
            last_used_at=at,
            user_agent=user_agent,
        )
        assert exact(added) == exact(expected)
        assert exact(sessions.all(dana.id)) == (exact(expected),)
        assert exact(sessions.find(digest)) == exact(SignedInAdministrator(expected, dana))

    def test_a_user_agent_is_stored_as_one_line(
        self, sessions: SessionRepository, dana: Administrator
    ) -> None:
        session = sessions.add(dana, a_digest(), NOW, "a\r\nb\0c" + "x" * 300)
        assert session.user_agent == "abc" + "x" * 252
        assert sessions.all(dana.id) == (session,)

    @pytest.mark.usefixtures("session")
    @pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, b"", bytes(31), bytes(33)])
    def test_an_unknown_digest_finds_no_session(
        self, sessions: SessionRepository, digest: bytes
    ) -> None:
        assert sessions.find(digest) is None

    def test_sessions_are_ordered_by_id_and_belong_to_one_administrator(
        self, sessions: SessionRepository, dana: Administrator, eve: Administrator
    ) -> None:
        danas = [sessions.add(dana, a_digest(), at, "") for at in (LATER, NOW)]
        eves = sessions.add(eve, a_digest(), NOW, "")
        assert sessions.all(dana.id) == tuple(danas)
        assert danas[0].id < danas[1].id
        assert sessions.all(eve.id) == (eves,)

    def test_a_session_is_found_with_the_current_role_and_password(
        self, storage: ConsoleStorage, ours: OrganizationId, dana: Administrator, session: Session
    ) -> None:
        changed = storage.administrators.change_role(ours, dana.id, Role.VIEWER, permit_change)
        found = storage.sessions.find(session.digest)
        assert found == SignedInAdministrator(session, changed)

    def test_a_revoked_administrator_begins_no_session(
        self, storage: ConsoleStorage, ours: OrganizationId, dana: Administrator
    ) -> None:
        storage.administrators.revoke(ours, dana.id, permit_change)
        with pytest.raises(AdministratorNotFound):
            storage.sessions.add(dana, a_digest(), NOW, "")

    def test_no_session_begins_with_a_password_that_was_changed(
        self, storage: ConsoleStorage, dana: Administrator
    ) -> None:
        changed = set_password_hash(storage.administrators, dana, "hash")
        again = set_password_hash(storage.administrators, dana, "another hash")
        for outdated in (dana, changed):
            with pytest.raises(AdministratorNotFound):
                storage.sessions.add(outdated, a_digest(), NOW, "")
        storage.sessions.add(again, a_digest(), NOW, "")
        assert len(storage.sessions.all(dana.id)) == 1

    def test_the_last_use_of_a_session_only_moves_forward(
        self, sessions: SessionRepository, dana: Administrator, session: Session
    ) -> None:
        other = sessions.add(dana, a_digest(), NOW, "")
        for at, latest in (
            (LATER, LATER),
            (NOW, LATER),
            (LATER + MILLISECOND, LATER + MILLISECOND),
        ):
            sessions.record_use(session.id, at)
            assert sessions.all(dana.id) == (evolve(session, last_used_at=latest), other)

    def test_a_deleted_session_is_gone(
        self, sessions: SessionRepository, dana: Administrator, session: Session
    ) -> None:
        other = sessions.add(dana, a_digest(), NOW, "")
        assert sessions.delete(dana.id, session.id) is True
        assert sessions.find(session.digest) is None
        assert sessions.all(dana.id) == (other,)
        assert sessions.delete(dana.id, session.id) is False
        assert sessions.add(dana, a_digest(), NOW, "").id > other.id

    def test_another_administrators_session_is_not_deleted(
        self, sessions: SessionRepository, dana: Administrator, eve: Administrator, session: Session
    ) -> None:
        assert sessions.delete(eve.id, session.id) is False
        assert sessions.delete_all(eve.id) == 0
        assert sessions.all(dana.id) == (session,)

    def test_all_sessions_of_an_administrator_can_be_deleted_at_once(
        self, sessions: SessionRepository, dana: Administrator, eve: Administrator, session: Session
    ) -> None:
        sessions.add(dana, a_digest(), NOW, "")
        kept = sessions.add(eve, a_digest(), NOW, "")
        assert sessions.delete_all(dana.id) == 2
        assert sessions.all(dana.id) == ()
        assert sessions.find(session.digest) is None
        assert sessions.all(eve.id) == (kept,)

    def test_an_id_that_was_never_assigned_has_no_session(
        self, sessions: SessionRepository, dana: Administrator, session: Session
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            unknown_administrator, unknown = (
                AdministratorId(never_assigned),
                SessionId(never_assigned),
            )
            sessions.record_use(unknown, LATER)
            assert sessions.delete(dana.id, unknown) is False
            assert sessions.delete(unknown_administrator, session.id) is False
            assert sessions.delete_all(unknown_administrator) == 0
            assert sessions.all(unknown_administrator) == ()
            assert sessions.use_form(unknown, a_digest()) is False
            sessions.release_form(unknown, a_digest())
            assert sessions.all(dana.id) == (session,)

    def test_a_purge_deletes_the_sessions_that_are_not_active(
        self, sessions: SessionRepository, dana: Administrator
    ) -> None:
        at = NOW + MAX_SESSION_AGE
        created_and_used = [
            (at - MAX_SESSION_AGE, at),
            (at - MAX_SESSION_AGE + MILLISECOND, at),
            (at - timedelta(hours=1), at - IDLE_TIMEOUT),
            (at - timedelta(hours=1), at - IDLE_TIMEOUT + MILLISECOND),
            (at, at),
        ]
        added = []
        for created, used in created_and_used:
            session = sessions.add(dana, a_digest(), created, "")
            sessions.record_use(session.id, used)
            added.append(evolve(session, last_used_at=used))
        sessions.purge(at)
        kept = tuple(session for session in added if session.is_active(at))
        assert kept == (added[1], added[3], added[4])
        assert sessions.all(dana.id) == kept

    def test_a_form_is_used_once_in_each_session(
        self, sessions: SessionRepository, dana: Administrator, session: Session
    ) -> None:
        other = sessions.add(dana, a_digest(), NOW, "")
        form, another = a_digest(), a_digest()
        uses = [(session, form), (session, form), (session, another), (other, form), (other, form)]
        used = [sessions.use_form(each.id, digest) for each, digest in uses]
        assert used == [True, False, True, True, False]

    def test_exactly_one_concurrent_submission_of_a_form_has_an_effect(
        self, sessions: SessionRepository, session: Session
    ) -> None:
        used = race(*[partial(sessions.use_form, session.id, a_digest())] * 4)
        assert sorted(used) == [False, False, False, True]

    def test_a_released_form_can_be_used_again(
        self, sessions: SessionRepository, dana: Administrator, session: Session
    ) -> None:
        other = sessions.add(dana, a_digest(), NOW, "")
        form, another = a_digest(), a_digest()
        for each, digest in ((session, form), (session, another), (other, form)):
            sessions.use_form(each.id, digest)
        for _ in range(2):
            sessions.release_form(session.id, form)
        uses = [(session, form), (session, form), (session, another), (other, form)]
        used = [sessions.use_form(each.id, digest) for each, digest in uses]
        assert used == [True, False, False, False]

    def test_a_session_that_ends_forgets_its_forms(
        self, sessions: SessionRepository, dana: Administrator, session: Session
    ) -> None:
        sessions.use_form(session.id, a_digest())
        sessions.delete(dana.id, session.id)
        assert sessions.use_form(session.id, a_digest()) is False

    def test_attempts_are_permitted_up_to_the_limit_of_each_window(
        self, sessions: SessionRepository, subject: bytes
    ) -> None:
        attempt = partial(sessions.count_attempt, subject, limit=2, window=WINDOW)
        assert [attempt(NOW), attempt(NOW + WINDOW - MILLISECOND)] == [None, None]
        assert [attempt(NOW), attempt(NOW + WINDOW - MILLISECOND)] == [NOW + WINDOW] * 2
        assert [attempt(NOW + WINDOW) for _ in range(3)] == [None, None, NOW + 2 * WINDOW]

    def test_subjects_have_their_own_attempts(
        self, sessions: SessionRepository, subject: bytes
    ) -> None:
        other = sha256(subject).digest()
        for _ in range(2):
            attempt = partial(sessions.count_attempt, limit=1, window=WINDOW)
            outcomes = [attempt(each, NOW) for each in (subject, other)]
        assert outcomes == [NOW + WINDOW] * 2
        sessions.forget_attempts(subject)
        assert [attempt(each, NOW) for each in (subject, other)] == [None, NOW + WINDOW]

    def test_an_attempt_can_be_uncounted_until_its_window_is_replaced(
        self, sessions: SessionRepository, subject: bytes
    ) -> None:
        attempt = partial(sessions.count_attempt, subject, limit=1, window=WINDOW)
        uncount = partial(sessions.uncount_attempt, subject, window=WINDOW)
        later = NOW + WINDOW
        uncount(NOW)  # There is no attempt.
        assert [attempt(NOW), attempt(NOW)] == [None, later]
        for _ in range(2):
            uncount(NOW)
        assert [attempt(NOW), attempt(NOW)] == [None, later]
        assert [attempt(later), attempt(later)] == [None, later + WINDOW]
        uncount(later - MILLISECOND)
        assert attempt(later) == later + WINDOW
        uncount(later)
        assert attempt(later) is None

    def test_concurrent_attempts_do_not_exceed_the_limit(
        self, sessions: SessionRepository, subject: bytes
    ) -> None:
        attempt = partial(sessions.count_attempt, subject, NOW, limit=3, window=WINDOW)
        outcomes = race(*[attempt] * 8)
        assert sorted(map(str, outcomes)) == sorted(["None"] * 3 + [str(NOW + WINDOW)] * 5)

    def test_concurrent_attempts_after_the_window_do_not_exceed_the_limit(
        self, sessions: SessionRepository, subject: bytes
    ) -> None:
        sessions.count_attempt(subject, NOW, limit=1, window=WINDOW)
        later = NOW + WINDOW
        attempt = partial(sessions.count_attempt, subject, later, limit=3, window=WINDOW)
        outcomes = race(*[attempt] * 8)
        assert sorted(map(str, outcomes)) == sorted(["None"] * 3 + [str(later + WINDOW)] * 5)
