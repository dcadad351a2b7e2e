"""What every KeyValidator does, whoever issues the keys."""

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
    """A key that the judged validator finds valid, and what it proves."""

    presented: str
    credential: Credential


@frozen
class EndedKey:
    """A key that is no longer valid, and how the judged validator rejects it."""

    presented: str
    rejection: Rejection


class KeyValidatorContract:
    """What the port promises. A subclass says by its fixtures which validator is judged."""

    @pytest.fixture
    def validator(self) -> KeyValidator:
        """The validator to judge."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `validator`")

    @pytest.fixture
    def valid(self) -> ValidKey:
        """A key that it finds valid."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `valid`")

    @pytest.fixture
    def ended_keys(self) -> Sequence[EndedKey]:
        """Keys that have expired or were revoked, if the validator can distinguish them."""
        return ()

    @pytest.fixture
    def broken_validator(self) -> KeyValidator:
        """The same validator, while whoever knows the keys can't be asked."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `broken_validator`")

    def test_a_valid_key_proves_for_whom_its_bearer_acts(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        for _ in range(2):
            assert validator.validate(valid.presented) == valid.credential

    def test_a_valid_key_proves_the_same_to_several_threads_at_once(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        with ThreadPoolExecutor(4) as pool:
            proven = list(pool.map(validator.validate, [valid.presented] * 20))
        assert proven == [valid.credential] * 20

    @pytest.mark.parametrize("presented", _NO_KEYS, ids=lambda text: ascii(text)[:20])
    def test_what_can_be_no_key_proves_nothing(
        self, validator: KeyValidator, presented: str
    ) -> None:
        assert validator.validate(presented) in _NEVER_VALID

    def test_what_only_resembles_a_valid_key_proves_nothing(
        self, validator: KeyValidator, valid: ValidKey
    ) -> None:
        key = valid.presented
        texts = (key[:-1], key[1:], key + "0", f"{key}\n", f" {key}", key.swapcase(), key[::-1])
        others = [text for text in texts if text != key]
        assert {validator.validate(other) for other in others} <= set(_NEVER_VALID)
        assert validator.validate(key) == valid.credential

    def test_a_key_that_is_no_longer_valid_is_rejected_with_its_reason_and_its_id(
        self, validator: KeyValidator, ended_keys: Sequence[EndedKey]
    ) -> None:
        for key in ended_keys:
            for _ in range(2):
                assert validator.validate(key.presented) == key.rejection
            assert key.presented not in repr(key.rejection)

    def test_a_key_that_nobody_can_tell_is_neither_valid_nor_refused(
        self, broken_validator: KeyValidator, valid: ValidKey
    ) -> None:
        for _ in range(2):
            with pytest.raises(KeyValidationUnavailable) as unavailable:
                broken_validator.validate(valid.presented)
            assert valid.presented not in "".join(format_exception(unavailable.value))

    def test_a_validator_shows_no_key(self, validator: KeyValidator, valid: ValidKey) -> None:
        validator.validate(valid.presented)
        assert valid.presented not in repr(validator)
