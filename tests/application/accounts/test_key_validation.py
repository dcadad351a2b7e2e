"""Validation of API keys in the storage."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

import pytest

from recipient_fields.application import AdministrationService, StoredKeyValidator
from recipient_fields.domain import (
    Access,
    Credential,
    KeyValidationUnavailable,
    PlainKey,
    Rejection,
    RejectionReason,
    StorageUnavailable,
)

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
EXAMPLE = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"


class ChangedApiKeys:
    """The API keys of a storage, of which a subclass replaces methods."""

    def __init__(self, keys):
        self._keys = keys

    def __getattr__(self, name):
        return getattr(self._keys, name)


class UnreadableApiKeys(ChangedApiKeys):
    def find(self, digest, /):
        raise StorageUnavailable("the storage is down")


class UnwritableApiKeys(ChangedApiKeys):
    def __init__(self, keys):
        super().__init__(keys)
        self.tried = []

    def record_use(self, organization_id, key_id, at, /):
        self.tried.append(at)
        raise StorageUnavailable("the storage is read-only")


@pytest.fixture
def issued(administration, acme):
    return administration.issue_key(acme, name="Backend", lifetime=90 * DAY)


@pytest.fixture
def used(storage, issued):
    return lambda: storage.api_keys.find(issued.plain.digest).last_used_at


@pytest.fixture
def read_only(storage):
    return UnwritableApiKeys(storage.api_keys)


@pytest.fixture
def issue_there(read_only, storage, acme, clock):
    administration = AdministrationService(
        organizations=storage.organizations, api_keys=read_only, clock=clock
    )
    return lambda name: administration.issue_key(acme, name=name)


@pytest.mark.parametrize("access", Access)
def test_the_credential_of_an_active_key_has_its_organization_and_access(
    access, administration, storage, acme, validator
):
    issued = administration.issue_key(acme, name="Backend", access=access)
    credential = validator.validate(issued.plain.reveal())
    assert credential == Credential(acme, issued.api_key.id, access)
    assert credential.catalog_revision == storage.fields.all(acme).revision


def test_a_key_is_valid_until_it_expires(issued, validator, clock):
    clock.move(90 * DAY - SECOND)
    assert isinstance(validator.validate(issued.plain.reveal()), Credential)
    clock.move(SECOND)
    outcome = validator.validate(issued.plain.reveal())
    assert outcome == Rejection(RejectionReason.EXPIRED, issued.api_key.id)
    assert outcome.since == issued.api_key.expires_at


def test_a_revoked_key_is_rejected_as_revoked_even_after_it_expires(
    issued, administration, validator, clock, acme
):
    administration.revoke_key(acme, issued.api_key.id)
    for _ in range(2):
        rejection = Rejection(RejectionReason.REVOKED, issued.api_key.id)
        assert validator.validate(issued.plain.reveal()) == rejection
        clock.move(90 * DAY)


def test_every_well_formed_invalid_key_takes_the_same_steps(
    issued, administration, storage, clock, acme
):
    """The duration of a response must not disclose the reason."""

    class Recorded(ChangedApiKeys):
        steps: ClassVar[list[str]] = []

        def find(self, digest, /):
            self.steps.append("find")
            return storage.api_keys.find(digest)

        def record_use(self, organization_id, key_id, at, /):
            self.steps.append("record_use")

    recorded = Recorded(storage.api_keys)
    validator = StoredKeyValidator(recorded, clock)
    revoked = administration.issue_key(acme, name="R")
    administration.revoke_key(acme, revoked.api_key.id)
    clock.move(90 * DAY)
    for presented in (revoked.plain.reveal(), issued.plain.reveal(), EXAMPLE):
        recorded.steps.clear()
        assert isinstance(validator.validate(presented), Rejection)
        assert recorded.steps == ["find"]


def test_the_default_clock_is_the_system_clock(storage):
    administration = AdministrationService(
        organizations=storage.organizations, api_keys=storage.api_keys
    )
    organization = administration.create_organization("Acme")
    issued = administration.issue_key(organization.id, name="Backend", lifetime=DAY)
    credential = StoredKeyValidator(storage.api_keys).validate(issued.plain.reveal())
    assert credential == Credential(organization.id, issued.api_key.id, Access.READ_WRITE)


def test_a_well_formed_key_that_was_never_issued_is_unknown(issued, validator):
    for key in (EXAMPLE, PlainKey.generate().reveal()):
        assert validator.validate(key) == Rejection(RejectionReason.UNKNOWN)


@pytest.mark.parametrize(
    "presented",
    [
        *("", "rfk_", EXAMPLE[:-1] + "B", EXAMPLE + "\n", EXAMPLE.lower(), f"Bearer {EXAMPLE}"),
        *("\0", "\ud800", "é" * 42, "r" * 1_000_000),
    ],
    ids=lambda text: ascii(text)[:50],
)
def test_a_malformed_key_is_rejected_without_a_query(presented, storage, clock):
    down = UnreadableApiKeys(storage.api_keys)
    outcome = StoredKeyValidator(down, clock).validate(presented)
    assert outcome == Rejection(RejectionReason.MALFORMED)


def test_a_storage_that_fails_makes_validation_unavailable(storage, clock):
    down = UnreadableApiKeys(storage.api_keys)
    with pytest.raises(KeyValidationUnavailable, match=r"^the storage is down$") as unavailable:
        StoredKeyValidator(down, clock).validate(EXAMPLE)
    assert isinstance(unavailable.value.__cause__, StorageUnavailable)


class TestTheLastUse:
    def test_of_a_new_key_is_recorded(self, issued, validator, used, clock):
        assert used() is None
        validator.validate(issued.plain.reveal())
        assert used() == clock.now

    def test_is_recorded_at_most_once_a_minute(self, issued, validator, used, clock):
        first = clock.now
        recorded = []
        for _ in range(7):
            validator.validate(issued.plain.reveal())
            recorded.append((clock.now - first, used() - first))
            clock.move(20 * SECOND)
        assert [last for _, last in recorded] == [
            *[timedelta()] * 3,
            *[MINUTE] * 3,
            2 * MINUTE,
        ]

    @pytest.mark.parametrize(
        ("later", "moved"),
        [(MINUTE - timedelta(milliseconds=1), False), (MINUTE, True), (-DAY, False)],
    )
    def test_is_recorded_again_after_a_minute(self, later, moved, issued, validator, used, clock):
        validator.validate(issued.plain.reveal())
        first = used()
        clock.move(later)
        validator.validate(issued.plain.reveal())
        assert used() == (clock.now if moved else first)

    def test_of_a_key_that_is_not_active_is_not_recorded(
        self, issued, administration, validator, used, acme
    ):
        administration.revoke_key(acme, issued.api_key.id)
        validator.validate(issued.plain.reveal())
        assert used() is None

    def test_that_can_not_be_recorded_does_not_invalidate_the_key(
        self, read_only, issue_there, clock, caplog
    ):
        caplog.set_level("WARNING")
        issued = issue_there("Backend")
        credential = StoredKeyValidator(read_only, clock).validate(issued.plain.reveal())
        assert credential == issued.api_key.to_found_key(0).to_credential(issued.plain)
        (message,) = caplog.messages
        assert message == "Can't record the use of API key 1: the storage is read-only"

    def test_that_can_not_be_recorded_is_retried_once_per_minute_for_all_keys(
        self, read_only, issue_there, clock, caplog
    ):
        caplog.set_level("WARNING")
        validator, first = StoredKeyValidator(read_only, clock), clock.now
        keys = [issue_there(name) for name in ("Backend", "Frontend")]
        for _ in range(7):
            for issued in keys:
                credential = validator.validate(issued.plain.reveal())
                assert credential == issued.api_key.to_found_key(0).to_credential(issued.plain)
            clock.move(20 * SECOND)
        assert [at - first for at in read_only.tried] == [timedelta(), MINUTE, 2 * MINUTE]
        assert len(caplog.messages) == 3

    @pytest.mark.parametrize(
        ("later", "tried"),
        [
            (MINUTE - timedelta(milliseconds=1), False),
            (MINUTE, True),
            (-timedelta(milliseconds=1), True),
            (-DAY, True),
        ],
    )
    def test_is_retried_after_a_minute_or_when_the_clock_is_set_back(
        self, later, tried, read_only, issue_there, clock
    ):
        validator = StoredKeyValidator(read_only, clock)
        presented = issue_there("Backend").plain.reveal()
        validator.validate(presented)
        clock.move(later)
        for _ in range(2):
            validator.validate(presented)
        assert len(read_only.tried) == (2 if tried else 1)
