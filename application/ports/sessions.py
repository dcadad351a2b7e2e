"""The ports of signing in: sessions and passwords."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    EmailAddress,
    Session,
    SessionId,
    SignedInAdministrator,
)

__all__ = ["PasswordHasher", "SessionRepository"]


class SessionRepository(Protocol):
    """The sessions of all administrators, and the counts of sign-in attempts.

    For each administrator, the sessions of others do not exist, except in `find` and `purge`.
    """

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        """Store a new session that begins at `at`, and return it.

        The user agent is stored as `clean_user_agent` returns it. The id of the session is greater
        than any that the storage has assigned to a session before.
        Raises: AdministratorNotFound if the account does not exist or has another password hash
        than `administrator`. A concurrent change of the account takes effect before this check,
        or deletes the session if it deletes sessions.
        """

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        """Return the session with this SHA-256 digest and its administrator, or None.

        Sessions that are not active any more are returned too. One transaction reads both.
        """

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        """Return the administrator's sessions by ascending id, including inactive ones."""

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        """Set the session's `last_used_at` to `at`.

        Do nothing if it is `at` or later already, or if there is no such session.
        """

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        """Delete the session. Return False if the administrator has no such session."""

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        """Delete all sessions of the administrator, and return their number."""

    def purge(self, at: datetime, /) -> None:
        """Delete the sessions of all administrators that are not active at `at`."""

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        """Store that the session has used the form token with this SHA-256 digest.

        Return True for the first call with these arguments, and False for every other one, or if
        there is no such session. Of concurrent calls, one returns True.
        """

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        """Undo `use_form` with the same arguments. Do nothing if there is no such use."""

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        """Count an attempt of the subject, a SHA-256 digest.

        A subject's window begins with its first attempt, and ends after `window`. Return None if
        this is one of the first `limit` attempts in the window, otherwise the end of the window.
        Concurrent calls can't bypass the limit. Once it is reached, calls in the window only read,
        so that a flood of them costs little. Subjects whose window has ended are deleted.
        """

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        """Undo `count_attempt` with the same arguments.

        Do nothing if the window of that attempt has been replaced, or if it has no more attempts.
        """

    def forget_attempts(self, subject: bytes, /) -> None:
        """Begin a new window for the subject with its next attempt."""


class PasswordHasher(Protocol):
    """Hashes passwords, slowly, and rates new ones.

    At most two calls of `hash`, `verify` and `is_guessable` run at once in a process. Another call
    waits for up to 2 seconds, and then raises PasswordHashingBusy.
    """

    def hash(self, password: str, /) -> str:
        """Return a salted hash of the password."""

    def verify(self, password_hash: str | None, password: str, /) -> bool:
        """Return whether the hash is of this password.

        If it is None, return False after the same time.
        """

    def needs_rehash(self, password_hash: str, /) -> bool:
        """Return whether the hash has other parameters than new ones."""

    def is_guessable(self, password: str, email: EmailAddress, /) -> bool:
        """Return whether the password is probably among the first 100 million guesses.

        The guesses are those of an attacker who knows the email address of the account. The
        password is not empty, and only its first 32 characters count.
        """
