"""A storage, a clock that a test sets, and two organizations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import (
    AdministrationService,
    IntegrationService,
    RecipientFieldService,
    StoredKeyValidator,
)
from recipient_fields.domain.esp import Esp


class StandingClock:
    """A clock that shows noon until a test changes it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, by: timedelta) -> datetime:
        self.now += by
        return self.now


@pytest.fixture
def clock():
    return StandingClock()


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def service(storage, clock):
    return RecipientFieldService(fields=storage.fields, history=storage.history, clock=clock)


@pytest.fixture
def administration(storage, clock):
    return AdministrationService(
        organizations=storage.organizations, api_keys=storage.api_keys, clock=clock
    )


@pytest.fixture
def validator(storage, clock):
    return StoredKeyValidator(storage.api_keys, clock)


@pytest.fixture
def acme(administration):
    return administration.create_organization("Acme").id


@pytest.fixture
def rival(administration):
    return administration.create_organization("Rival").id


@pytest.fixture
def integrations(storage, clock):
    return IntegrationService(
        integrations=storage.integrations,
        fields=storage.fields,
        history=storage.history,
        clock=clock,
    )


@pytest.fixture
def mailchimp(integrations, acme):
    return integrations.create_integration(acme, esp=Esp("mailchimp"), name="Main list")
