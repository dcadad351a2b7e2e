"""Password hashing with argon2-cffi, and the list of common passwords of zxcvbn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from recipient_fields.application.extras import requires_extra
from recipient_fields.domain import PasswordHashingBusy

with requires_extra("console", "argon2", "zxcvbn"):
    from argon2 import PasswordHasher
    from argon2.exceptions import VerifyMismatchError
    from zxcvbn.frequency_lists import FREQUENCY_LISTS

__all__ = ["Argon2PasswordHasher"]

_CONCURRENT_HASHES = 2
"""Each takes 64 MiB with the parameters of argon2-cffi, and several threads."""
_WAIT_SECONDS = 2.0
_RETRY_AFTER_SECONDS = 2
_COMMON = 10_000

_slots = BoundedSemaphore(_CONCURRENT_HASHES)


class Argon2PasswordHasher:
    """A PasswordHasher that uses argon2id, by default with the parameters of argon2-cffi."""

    def __init__(self, argon2: PasswordHasher | None = None) -> None:
        """Use the parameters of `argon2`."""
        self._argon2 = PasswordHasher() if argon2 is None else argon2
        # The password does not matter: `verify` rejects every password for this hash.
        self._dummy_hash = self._argon2.hash("")
        # The lists are by descending frequency.
        self._common = frozenset(FREQUENCY_LISTS["passwords"][:_COMMON])

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

    def is_common(self, password: str, /) -> bool:
        """Return whether the password is among the 10,000 most common, without regard to case."""
        return password.lower() in self._common


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
