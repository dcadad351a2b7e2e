"""The faults that the checker is there to find, each planted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import KeyValidator
from recipient_fields.domain import Credential, RecipientField
from recipient_fields.entrypoints.composition import Core

from .histories import app, assert_soon_contradicted, clients, users


class LosesUpdates:
    """A repository that reads, then writes outside the lock."""

    def __init__(self, sound: Any) -> None:
        self._sound = sound

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)

    def update(self, organization_id: Any, reference: Any, change: Any, /) -> RecipientField:
        changed = change(self._sound.get(organization_id, reference))
        return self._sound.update(organization_id, reference, lambda _: changed)


class ReportsAnOldRevision:
    """A validator that reports the revision which the request before it met."""

    def __init__(self, sound: KeyValidator) -> None:
        self._sound = sound
        self._revision: int | None = None

    def validate(self, presented: str, /) -> Credential | None:
        found = self._sound.validate(presented)
        if found is None:
            return None
        old, self._revision = self._revision, found.catalog_revision
        return evolve(found, catalog_revision=old)


class CountsItsOwnWrites:
    """A repository and a validator that take a count of this service's writes for the revision."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._writes = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._core.storage.fields, name)
        if name not in {"add", "update", "delete"}:
            return method

        def write(*arguments: Any, **options: Any) -> Any:
            self._writes += 1
            try:
                return method(*arguments, **options)
            finally:
                self._writes += 1

        return write

    def validate(self, presented: str, /) -> Credential | None:
        found = self._core.validator.validate(presented)
        return found and evolve(found, catalog_revision=self._writes)


def test_a_lost_update_of_a_storage_is_found(core: Core) -> None:
    assert_soon_contradicted(lambda: users(core, LosesUpdates(core.storage.fields)))


def test_a_lost_update_is_found_through_the_service(core: Core) -> None:
    faulty = LosesUpdates(core.storage.fields)
    assert_soon_contradicted(lambda: clients(core, app(core, faulty)))


def test_a_stale_read_of_a_kept_answer_is_found(core: Core) -> None:
    assert_soon_contradicted(
        lambda: clients(core, app(core, validator=ReportsAnOldRevision(core.validator)))
    )


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_a_service_that_notices_its_own_writes_alone_is_found_beside_another(
    another: Callable[[], Core],
) -> None:
    cores = another(), another()

    def faulty(core: Core) -> Any:
        own = CountsItsOwnWrites(core)
        return app(core, own, own)

    assert_soon_contradicted(lambda: clients(cores[0], *map(faulty, cores)))
