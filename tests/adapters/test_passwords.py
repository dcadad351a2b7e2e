"""Password hashing with argon2-cffi, and the list of common passwords."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from time import monotonic

import pytest
from argon2 import PasswordHasher, Type, extract_parameters

from recipient_fields.adapters.passwords import Argon2PasswordHasher
from recipient_fields.domain import PasswordHashingBusy

FAST = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "seven purple tractors"


@pytest.fixture
def hasher() -> Argon2PasswordHasher:
    return Argon2PasswordHasher(FAST)


def test_a_password_is_verified_by_its_hash(hasher: Argon2PasswordHasher) -> None:
    hashed = hasher.hash(PASSWORD)
    assert hashed != hasher.hash(PASSWORD)
    assert PASSWORD not in hashed
    assert hasher.verify(hashed, PASSWORD)
    for other in (PASSWORD.upper(), "", f"{PASSWORD}\0", f"{PASSWORD} "):
        assert not hasher.verify(hashed, other)


@pytest.mark.parametrize("password", ["", "\0", "\ud800", "😀" * 1_024], ids=ascii)
def test_every_text_can_be_a_password(hasher: Argon2PasswordHasher, password: str) -> None:
    assert hasher.verify(hasher.hash(password), password)


def test_without_a_hash_no_password_is_correct(hasher: Argon2PasswordHasher) -> None:
    assert not hasher.verify(None, PASSWORD)
    assert not hasher.verify(None, "")


def test_the_default_is_argon2id_with_the_library_s_parameters() -> None:
    hashed = Argon2PasswordHasher().hash(PASSWORD)
    parameters = extract_parameters(hashed)
    assert parameters.type is Type.ID
    assert parameters == extract_parameters(PasswordHasher().hash(PASSWORD))


def test_a_hash_with_other_parameters_needs_a_rehash(hasher: Argon2PasswordHasher) -> None:
    assert not hasher.needs_rehash(hasher.hash(PASSWORD))
    stronger = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    assert hasher.needs_rehash(stronger.hash(PASSWORD))


@pytest.mark.parametrize("password", ["password", "123456", "1qaz2wsx3edc", "QWERTY123456"])
def test_common_passwords_are_found(hasher: Argon2PasswordHasher, password: str) -> None:
    assert hasher.is_common(password)


def test_other_passwords_are_not_common(hasher: Argon2PasswordHasher) -> None:
    assert not hasher.is_common(PASSWORD)


class BlockingHasher(PasswordHasher):
    """An argon2 hasher whose hashes of passwords wait for an event."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.started = Barrier(3)
        self.permitted = Event()

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        if password:
            self.started.wait(5)
            assert self.permitted.wait(10)
        return super().hash(password, salt=salt)


def test_a_third_hash_waits_for_two_seconds_and_is_rejected() -> None:
    blocking = BlockingHasher()
    first, second = Argon2PasswordHasher(blocking), Argon2PasswordHasher(blocking)
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(each.hash, PASSWORD) for each in (first, second)]
        blocking.started.wait(5)
        began = monotonic()
        with pytest.raises(PasswordHashingBusy) as busy:
            first.verify(None, PASSWORD)
        assert 1.9 < monotonic() - began < 4
        assert busy.value.retry_after >= 1
        blocking.permitted.set()
        assert all(hashing.result() for hashing in running)
    assert not first.verify(None, PASSWORD)
