"""Password hashing with argon2-cffi, and the strength of passwords with zxcvbn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from sys import getswitchinterval, setswitchinterval
from threading import Barrier, Event
from time import monotonic

import pytest
from argon2 import PasswordHasher, Type, extract_parameters

from recipient_fields.adapters.passwords import Argon2PasswordHasher
from recipient_fields.domain import EmailAddress, PasswordHashingBusy

FAST = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "seven purple tractors"
EMAIL = EmailAddress("dana@acme.example")


@pytest.fixture
def hasher() -> Argon2PasswordHasher:
    return Argon2PasswordHasher(FAST)


def test_a_password_is_verified_by_its_hash(hasher):
    hashed = hasher.hash(PASSWORD)
    assert hashed != hasher.hash(PASSWORD)
    assert PASSWORD not in hashed
    assert hasher.verify(hashed, PASSWORD)
    for other in (PASSWORD.upper(), "", f"{PASSWORD}\0", f"{PASSWORD} "):
        assert not hasher.verify(hashed, other)


@pytest.mark.parametrize("password", ["", "\0", "\ud800", "😀" * 1_024], ids=ascii)
def test_every_text_can_be_a_password(hasher, password):
    assert hasher.verify(hasher.hash(password), password)


def test_without_a_hash_no_password_is_correct(hasher):
    assert not hasher.verify(None, PASSWORD)
    assert not hasher.verify(None, "")


def test_the_default_is_argon2id_with_the_library_s_parameters() -> None:
    hashed = Argon2PasswordHasher().hash(PASSWORD)
    parameters = extract_parameters(hashed)
    assert parameters.type is Type.ID
    assert parameters == extract_parameters(PasswordHasher().hash(PASSWORD))


def test_a_hash_with_other_parameters_needs_a_rehash(hasher):
    assert not hasher.needs_rehash(hasher.hash(PASSWORD))
    stronger = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    assert hasher.needs_rehash(stronger.hash(PASSWORD))


@pytest.mark.parametrize("password", ["\0" * 12, "\ud800" * 12, "İ" * 12, "12345\n"], ids=ascii)
def test_every_text_can_be_rated(hasher, password):
    assert hasher.is_guessable(password, EMAIL)
    assert not hasher.is_guessable(f"{PASSWORD}{password}", EMAIL)


def test_only_32_characters_are_rated(hasher):
    assert hasher.is_guessable("a" * 32 + PASSWORD, EMAIL)
    assert not hasher.is_guessable("a" * (32 - len(PASSWORD)) + PASSWORD, EMAIL)


def test_concurrent_ratings_use_their_own_email_address(hasher):
    emails = [EmailAddress(f"{name}@acme.example") for name in ("dana.walsh", "kim.novak")]
    interval = getswitchinterval()
    setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(emails)) as threads:
            rated = [
                threads.submit(hasher.is_guessable, f"{email}1", email)
                for _ in range(100)
                for email in emails
            ]
        assert all(rating.result() for rating in rated)
    finally:
        setswitchinterval(interval)


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
        with pytest.raises(PasswordHashingBusy):
            first.is_guessable(PASSWORD, EMAIL)
        blocking.permitted.set()
        assert all(hashing.result() for hashing in running)
    assert not first.verify(None, PASSWORD)
