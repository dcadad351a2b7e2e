"""The contract of key validators, on ours and on faulty ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from attrs import evolve

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import Core, IssuedKey, KeyValidator, StoredKeyValidator
from recipient_fields.domain import (
    Access,
    Credential,
    KeyValidationUnavailable,
    OrganizationId,
    Rejection,
    RejectionReason,
)
from recipient_fields.testing import InactiveKey, KeyValidatorContract, ValidKey

from ...support.http_server import Stage
from .issuers import CLAIMS, NOW, TOKEN, Clock, Tokens, validator_at


class TestIntrospection(KeyValidatorContract):
    @pytest.fixture
    def validator(self, asking: Callable[..., KeyValidator]) -> KeyValidator:
        return asking()

    @pytest.fixture
    def valid(self) -> ValidKey:
        return ValidKey(TOKEN, Credential(OrganizationId(7), "backend", Access.READ_WRITE))

    @pytest.fixture
    def broken_validator(self, free_port: int) -> Iterator[KeyValidator]:
        with closing(validator_at(f"http://127.0.0.1:{free_port}")) as validator:
            yield validator

    @pytest.fixture
    def inactive_keys(self, tokens: Tokens) -> list[InactiveKey]:
        tokens.active["ended-token"] = {**CLAIMS, "exp": int(NOW.timestamp())}
        return [InactiveKey("ended-token", Rejection(RejectionReason.EXPIRED, "backend"))]


class TestIntrospectionThatKeeps(TestIntrospection):
    @pytest.fixture
    def validator(self, asking: Callable[..., KeyValidator]) -> KeyValidator:
        return asking(cache_seconds=60)


class TestStoredKeys(KeyValidatorContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def core(self, clock: Clock) -> Core:
        return Core.over(MemoryStorage(), clock=clock)

    @pytest.fixture
    def issued(self, core: Core) -> IssuedKey:
        acme = core.administration.create_organization("Acme")
        return core.administration.issue_key(acme.id, name="Backend", access=Access.READ_ONLY)

    @pytest.fixture
    def inactive_keys(self, core: Core, clock: Clock) -> list[InactiveKey]:
        acme = core.administration.create_organization("Acme").id
        expired = core.administration.issue_key(acme, name="E", lifetime=timedelta(seconds=1))
        revoked = core.administration.issue_key(acme, name="R")
        core.administration.revoke_key(acme, revoked.api_key.id)
        clock.move(1)
        return [
            InactiveKey(key.plain.reveal(), Rejection(reason, key.api_key.id))
            for key, reason in (
                (expired, RejectionReason.EXPIRED),
                (revoked, RejectionReason.REVOKED),
            )
        ]

    @pytest.fixture
    def validator(self, core: Core) -> KeyValidator:
        return core.validator

    @pytest.fixture
    def valid(self, issued: IssuedKey) -> ValidKey:
        key = issued.api_key
        credential = Credential(key.organization_id, key.id, Access.READ_ONLY)
        return ValidKey(issued.plain.reveal(), credential)

    @pytest.fixture
    def broken_validator(self, database: str) -> KeyValidator:
        storage = SqliteStorage(database)
        storage.close()
        return StoredKeyValidator(storage.api_keys)


class Faulty:
    """A validator over a sound one; each subclass makes one mistake."""

    def __init__(self, sound: KeyValidator) -> None:
        self.sound = sound

    def validate(self, presented: str, /) -> Credential | Rejection:
        return self.sound.validate(presented)


class Trims(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        return self.sound.validate(presented.strip())


class Chokes(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        presented.encode()
        return self.sound.validate(presented)


class ForgetsWhatIsReadOnly(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        proven = self.sound.validate(presented)
        if isinstance(proven, Rejection):
            return proven
        return Credential(proven.organization_id, proven.key_id, Access.READ_ONLY)


class Remembers(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        self.last = presented
        return self.sound.validate(presented)

    def __repr__(self) -> str:
        return f"Remembers({self.last})"


class RefusesWhatItCanNotTell(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        try:
            return self.sound.validate(presented)
        except KeyValidationUnavailable:
            return Rejection(RejectionReason.UNKNOWN)


class RejectsWithNone(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        outcome = self.sound.validate(presented)
        return None if isinstance(outcome, Rejection) else outcome  # type: ignore[return-value]


class NamesARejectedTextAsAKey(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        outcome = self.sound.validate(presented)
        return evolve(outcome, key_id=presented) if isinstance(outcome, Rejection) else outcome


class TellsTheKey(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        try:
            return self.sound.validate(presented)
        except KeyValidationUnavailable as error:
            raise KeyValidationUnavailable(f"{presented} can't be told.") from error


CASES = KeyValidatorContract


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (Trims, CASES.test_a_text_similar_to_a_valid_key_is_rejected),
        (RejectsWithNone, CASES.test_a_text_similar_to_a_valid_key_is_rejected),
        (NamesARejectedTextAsAKey, CASES.test_a_text_similar_to_a_valid_key_is_rejected),
        (ForgetsWhatIsReadOnly, CASES.test_a_valid_key_returns_its_credential),
        (Remembers, CASES.test_the_repr_of_a_validator_contains_no_key),
    ],
)
def test_the_contract_finds_faults(
    validator: KeyValidator, fault: type[Faulty], case: Callable[..., None]
) -> None:
    credential = Credential(OrganizationId(7), "backend", Access.READ_WRITE)

    with pytest.raises(AssertionError):
        case(CASES(), fault(validator), ValidKey(TOKEN, credential))


class ForgetsWhyAKeyEnded(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        outcome = self.sound.validate(presented)
        return Rejection(RejectionReason.UNKNOWN) if isinstance(outcome, Rejection) else outcome


def test_the_contract_finds_a_validator_that_forgets_why_a_key_ended(
    validator: KeyValidator, tokens: Tokens
) -> None:
    tokens.active[TOKEN] = {**CLAIMS, "exp": int(NOW.timestamp())}
    ended = [InactiveKey(TOKEN, Rejection(RejectionReason.EXPIRED, "backend"))]
    case = CASES().test_an_inactive_key_is_rejected_with_its_reason_and_its_id

    case(validator, ended)
    with pytest.raises(AssertionError):
        case(ForgetsWhyAKeyEnded(validator), ended)


def test_the_contract_finds_who_chokes_on_text(validator: KeyValidator) -> None:
    with pytest.raises(UnicodeEncodeError):
        CASES().test_a_malformed_key_is_rejected(Chokes(validator), "\ud800")


@pytest.mark.parametrize("fault", [RefusesWhatItCanNotTell, TellsTheKey])
def test_the_contract_finds_who_hides_or_tells_too_much_of_an_outage(
    free_port: int, fault: type[Faulty]
) -> None:
    credential = Credential(OrganizationId(7), "backend", Access.READ_WRITE)

    with (
        closing(validator_at(f"http://127.0.0.1:{free_port}")) as broken,
        pytest.raises((AssertionError, pytest.fail.Exception)),
    ):
        CASES().test_a_broken_validator_neither_accepts_nor_rejects_a_key(
            fault(broken), ValidKey(TOKEN, credential)
        )


def test_only_what_can_be_a_token_reaches_the_issuer(
    validator: KeyValidator, issuer: Stage
) -> None:
    texts = ("", "=", "a b", "tok en", "tok\n", "ü", "a" * 8_193, "tok=en", 'to"ken', "\ud800")

    outcomes = [validator.validate(text) for text in texts]
    assert outcomes == [Rejection(RejectionReason.MALFORMED)] * len(texts)
    assert issuer.heard == []
