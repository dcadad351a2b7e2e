"""The contract of key validators, for the two adapters and for faulty validators."""

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

from .issuers import CLAIMS, NOW, TOKEN, Clock, Tokens, validator_at


class TestIntrospection(KeyValidatorContract):
    @pytest.fixture
    def validator(self, make_validator: Callable[..., KeyValidator]) -> KeyValidator:
        return make_validator()

    @pytest.fixture
    def valid(self) -> ValidKey:
        return ValidKey(TOKEN, Credential(OrganizationId(7), "backend", Access.READ_WRITE))

    @pytest.fixture
    def broken_validator(self, free_port: int) -> Iterator[KeyValidator]:
        with closing(validator_at(f"http://127.0.0.1:{free_port}")) as validator:
            yield validator

    @pytest.fixture
    def inactive_keys(self, tokens: Tokens) -> list[InactiveKey]:
        tokens.active["inactive-token"] = {**CLAIMS, "exp": int(NOW.timestamp())}
        return [InactiveKey("inactive-token", Rejection(RejectionReason.EXPIRED, "backend"))]


class TestIntrospectionWithCache(TestIntrospection):
    @pytest.fixture
    def validator(self, make_validator: Callable[..., KeyValidator]) -> KeyValidator:
        return make_validator(cache_seconds=60)


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
        clock.advance(1)
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
    """A wrapper of a correct validator. Each subclass has one fault."""

    def __init__(self, inner: KeyValidator) -> None:
        self.inner = inner

    def validate(self, presented: str, /) -> Credential | Rejection:
        return self.inner.validate(presented)


class StripsTheKey(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        return self.inner.validate(presented.strip())


class FailsOnSurrogates(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        presented.encode()
        return self.inner.validate(presented)


class GrantsReadOnlyAccess(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        result = self.inner.validate(presented)
        if isinstance(result, Rejection):
            return result
        return Credential(result.organization_id, result.key_id, Access.READ_ONLY)


class ShowsTheKeyInItsRepr(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        self.last = presented
        return self.inner.validate(presented)

    def __repr__(self) -> str:
        return f"ShowsTheKeyInItsRepr({self.last})"


class RejectsDuringAnOutage(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        try:
            return self.inner.validate(presented)
        except KeyValidationUnavailable:
            return Rejection(RejectionReason.UNKNOWN)


class RejectsWithNone(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        outcome = self.inner.validate(presented)
        return None if isinstance(outcome, Rejection) else outcome  # type: ignore[return-value]


class ReturnsTheTextAsKeyId(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        outcome = self.inner.validate(presented)
        return evolve(outcome, key_id=presented) if isinstance(outcome, Rejection) else outcome


class ShowsTheKeyInItsError(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        try:
            return self.inner.validate(presented)
        except KeyValidationUnavailable as error:
            raise KeyValidationUnavailable(f"{presented} can't be validated.") from error


CASES = KeyValidatorContract


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (StripsTheKey, CASES.test_a_text_similar_to_a_valid_key_is_rejected),
        (RejectsWithNone, CASES.test_a_text_similar_to_a_valid_key_is_rejected),
        (ReturnsTheTextAsKeyId, CASES.test_a_text_similar_to_a_valid_key_is_rejected),
        (GrantsReadOnlyAccess, CASES.test_a_valid_key_returns_its_credential),
        (ShowsTheKeyInItsRepr, CASES.test_the_repr_of_a_validator_contains_no_key),
    ],
)
def test_the_contract_detects_a_faulty_validator(validator, fault, case):
    credential = Credential(OrganizationId(7), "backend", Access.READ_WRITE)

    with pytest.raises(AssertionError):
        case(CASES(), fault(validator), ValidKey(TOKEN, credential))


class OmitsTheReason(Faulty):
    def validate(self, presented: str, /) -> Credential | Rejection:
        outcome = self.inner.validate(presented)
        return Rejection(RejectionReason.UNKNOWN) if isinstance(outcome, Rejection) else outcome


def test_the_contract_detects_a_missing_reason(validator, tokens):
    tokens.active[TOKEN] = {**CLAIMS, "exp": int(NOW.timestamp())}
    inactive = [InactiveKey(TOKEN, Rejection(RejectionReason.EXPIRED, "backend"))]
    case = CASES().test_an_inactive_key_is_rejected_with_its_reason_and_its_id

    case(validator, inactive)
    with pytest.raises(AssertionError):
        case(OmitsTheReason(validator), inactive)


def test_the_contract_detects_a_failure_on_invalid_text(validator):
    with pytest.raises(UnicodeEncodeError):
        CASES().test_a_malformed_key_is_rejected(FailsOnSurrogates(validator), "\ud800")


@pytest.mark.parametrize("fault", [RejectsDuringAnOutage, ShowsTheKeyInItsError])
def test_the_contract_detects_a_hidden_outage_and_a_key_in_an_error(free_port, fault):
    credential = Credential(OrganizationId(7), "backend", Access.READ_WRITE)

    with (
        closing(validator_at(f"http://127.0.0.1:{free_port}")) as broken,
        pytest.raises((AssertionError, pytest.fail.Exception)),
    ):
        CASES().test_a_broken_validator_neither_accepts_nor_rejects_a_key(
            fault(broken), ValidKey(TOKEN, credential)
        )


def test_malformed_tokens_are_not_sent_to_the_issuer(validator, issuer):
    texts = ("", "=", "a b", "tok en", "tok\n", "ü", "a" * 8_193, "tok=en", 'to"ken', "\ud800")

    outcomes = [validator.validate(text) for text in texts]
    assert outcomes == [Rejection(RejectionReason.MALFORMED)] * len(texts)
    assert issuer.requests == []
