"""Cases for every KeyValidator."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from traceback import format_exception

import pytest
from attrs import frozen

from recipient_fields.application import KeyValidator
from recipient_fields.domain import (
    Credential,
    KeyValidationUnavailable,
    Rejection,
    RejectionReason,
)

_NEVER_VALID = (Rejection(RejectionReason.MALFORMED), Rejection(RejectionReason.UNKNOWN))
_NO_KEYS = ("", " ", "\0", "\n", "\ud800", "é" * 42, "a" * 1_000_000, "null", "*", "Bearer x")


@frozen
class ValidKey:
    """A key that the validator accepts, and its credential."""

    presented: str
    credential: Credential


@frozen
class InactiveKey:
    """A key that has expired or was revoked, and the rejection that the validator returns."""

    presented: str
    rejection: Rejection


class KeyValidatorContract:
    """Tests of the port KeyValidator. The fixtures of a subclass return the validator to test."""

    @pytest.fixture
    def validator(self) -> KeyValidator:
        """Return the validator to test."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `validator`")

    @pytest.fixture
    def valid(self) -> ValidKey:
        """Return a key that the validator accepts."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `valid`")

    @pytest.fixture
    def inactive_keys(self) -> Sequence[InactiveKey]:
        """Return keys that have expired or were revoked, if the validator can distinguish them."""
        return ()

    @pytest.fixture
    def broken_validator(self) -> KeyValidator:
        """Return the same validator while its source of keys is unavailable."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `broken_validator`")

    def test_a_valid_key_returns_its_credential(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        for _ in range(2):
            assert validator.validate(valid.presented) == valid.credential

    def test_a_valid_key_returns_the_same_credential_in_concurrent_calls(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        with ThreadPoolExecutor(4) as pool:
            credentials = list(pool.map(validator.validate, [valid.presented] * 20))
        assert credentials == [valid.credential] * 20

    @pytest.mark.parametrize("presented", _NO_KEYS, ids=lambda text: ascii(text)[:20])
    def test_a_malformed_key_is_rejected(self, validator: KeyValidator, presented: str) -> None:
        assert validator.validate(presented) in _NEVER_VALID

    def test_a_text_similar_to_a_valid_key_is_rejected(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        key = valid.presented
        texts = (key[:-1], key[1:], key + "0", f"{key}\n", f" {key}", key.swapcase(), key[::-1])
        others = [text for text in texts if text != key]
        assert {validator.validate(other) for other in others} <= set(_NEVER_VALID)
        assert validator.validate(key) == valid.credential

    def test_an_inactive_key_is_rejected_with_its_reason_and_its_id(
        self, validator: KeyValidator, inactive_keys: Sequence[InactiveKey]
    ) -> None:
        for key in inactive_keys:
            for _ in range(2):
                assert validator.validate(key.presented) == key.rejection
            assert key.presented not in repr(key.rejection)

    def test_a_broken_validator_neither_accepts_nor_rejects_a_key(
        self, broken_validator: KeyValidator, valid: ValidKey
    ) -> None:
        for _ in range(2):
            with pytest.raises(KeyValidationUnavailable) as unavailable:
                broken_validator.validate(valid.presented)
            assert valid.presented not in "".join(format_exception(unavailable.value))

    def test_the_repr_of_a_validator_contains_no_key(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        validator.validate(valid.presented)
        assert valid.presented not in repr(validator)
