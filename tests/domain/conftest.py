"""What the tests of the domain share: a way to expect refusals, and fields to start from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import settings

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

from ..sentences import are_sentences

settings.register_profile("whole runs, slow machines too", deadline=None)
settings.load_profile("whole runs, slow machines too")


@pytest.fixture(scope="session")
def refused() -> Callable[..., Any]:
    """Expects InvalidInput with exactly these violations, written `rule` or `path.to.it: rule`.

    Whatever else a message says, it says it in sentences.
    """

    def as_told(invalid: InvalidInput, violations: tuple[str, ...]) -> bool:
        assert all(are_sentences(violation.message) for violation in invalid.violations)
        return told(invalid) == violations

    def expecting(*violations: str) -> Any:
        return pytest.raises(InvalidInput, check=lambda invalid: as_told(invalid, violations))

    return expecting


@pytest.fixture(scope="session")
def noon() -> datetime:
    return datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def make_field(noon: datetime) -> Callable[..., RecipientField]:
    """Makes the field a channel has drafted, stored as field 1 of organization 1."""

    def make(by: Channel = API, /, **members: Any) -> RecipientField:
        synced = {} if by.integration_id is None else {"esp_field_name": "FNAME"}
        draft = FieldDraft(
            **{"name": "First name", "data_type": DataType.TEXT, **synced, **members}
        )
        return draft.defined(by=by, at=noon).stored(FieldId(1), OrganizationId(1))

    return make


def told(invalid: InvalidInput) -> tuple[str, ...]:
    return tuple(
        f"{'.'.join(map(str, violation.path))}: {violation.rule.value}".removeprefix(": ")
        for violation in invalid.violations
    )
