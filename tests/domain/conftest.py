"""The fixtures of the domain's tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from recipient_fields.domain import (
    API,
    Channel,
    DataType,
    FieldDraft,
    FieldId,
    InvalidInput,
    OrganizationId,
    RecipientField,
)

from ..support.messages import are_sentences


@pytest.fixture(scope="session")
def raises_violations() -> Callable[..., Any]:
    """Expect InvalidInput with exactly these violations, written `rule` or `path.to.it: rule`.

    Its messages must be sentences.
    """

    def is_expected(invalid: InvalidInput, expected: tuple[str, ...]) -> bool:
        assert all(are_sentences(violation.message) for violation in invalid.violations)
        return summaries(invalid) == expected

    def expect(*violations: str) -> Any:
        return pytest.raises(InvalidInput, check=lambda invalid: is_expected(invalid, violations))

    return expect


@pytest.fixture(scope="session")
def noon() -> datetime:
    return datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def make_field(noon: datetime) -> Callable[..., RecipientField]:
    """Make field 1 of organization 1, created through a channel."""

    def make(by: Channel = API, /, **members: Any) -> RecipientField:
        esp_name = {} if by.integration_id is None else {"esp_field_name": "FNAME"}
        defaults = {"name": "First name", "data_type": DataType.TEXT, **esp_name}
        draft = FieldDraft(**{**defaults, **members})
        return draft.define(by=by, at=noon).with_id(FieldId(1), OrganizationId(1))

    return make


def summaries(invalid: InvalidInput) -> tuple[str, ...]:
    return tuple(
        f"{'.'.join(map(str, violation.path))}: {violation.rule.value}".removeprefix(": ")
        for violation in invalid.violations
    )
