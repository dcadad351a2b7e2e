"""Password hashing with argon2-cffi, and the strength of passwords with zxcvbn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from recipient_fields.application.extras import requires_extra
from recipient_fields.domain import EmailAddress, PasswordHashingBusy

with requires_extra("console", "argon2", "zxcvbn"):
    from argon2 import PasswordHasher
    from argon2.exceptions import VerifyMismatchError
    from zxcvbn import zxcvbn

_CONCURRENT_HASHES = 2
"""Each takes 64 MiB with the parameters of argon2-cffi, and several threads."""
_WAIT_SECONDS = 2.0
_RETRY_AFTER_SECONDS = 2
_MIN_SCORE = 3
"""The score of zxcvbn for 10^8 to 10^10 guesses."""
_RATED_LENGTH = 32
"""zxcvbn needs up to 0.6 s for so many characters, and raises an error for more than 72."""

_slots = BoundedSemaphore(_CONCURRENT_HASHES)
_zxcvbn_lock = Lock()
"""zxcvbn keeps the user inputs of a call in a global variable."""


class Argon2PasswordHasher:
    """A PasswordHasher that uses argon2id, by default with the parameters of argon2-cffi."""

    def __init__(self, argon2: PasswordHasher | None = None) -> None:
        """Use the parameters of `argon2`."""
        self._argon2 = PasswordHasher() if argon2 is None else argon2
        # The password does not matter: `verify` rejects every password for this hash.
        self._dummy_hash = self._argon2.hash("")

    def hash(self, password: str, /) -> str:
        """Return a salted argon2id hash of the password."""
        with _slot():
            return self._argon2.hash(_encoded(password))

    def verify(self, password_hash: str | None, password: str, /) -> bool:
        """Return whether the hash is of this password."""
        with _slot():
            try:
                self._argon2.verify(password_hash or self._dummy_hash, _encoded(password))
            except VerifyMismatchError:
                return False
        return password_hash is not None

    def needs_rehash(self, password_hash: str, /) -> bool:
        """Return whether the hash has other parameters than new ones."""
        return self._argon2.check_needs_rehash(password_hash)

    def is_guessable(self, password: str, email: EmailAddress, /) -> bool:
        """Return whether zxcvbn scores the password below 3 of 4."""
        # zxcvbn raises a ValueError for digits before a line feed.
        rated = password[:_RATED_LENGTH].replace("\n", " ")
        # zxcvbn finds an input only if the password contains all of it.
        known = email.text[:_RATED_LENGTH]
        with _slot(), _zxcvbn_lock:
            score: int = zxcvbn(rated, user_inputs=[known])["score"]
        return score < _MIN_SCORE


@contextmanager
def _slot() -> Iterator[None]:
    if not _slots.acquire(timeout=_WAIT_SECONDS):
        raise PasswordHashingBusy(_RETRY_AFTER_SECONDS)
    try:
        yield
    finally:
        _slots.release()


def _encoded(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
