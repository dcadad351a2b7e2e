"""Seeded bugs that the checker must find."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import sleep
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import Core, FieldRepository, KeyValidator
from recipient_fields.domain import (
    Catalog,
    CatalogChanges,
    CatalogView,
    Credential,
    FieldDefinition,
    FieldNotFound,
    OrganizationId,
    RecipientField,
    Rejection,
)
from recipient_fields.entrypoints.http.responses import ReadResponse, ResponseCache

from .histories import app, assert_bug_is_found, clients, users

pytestmark = pytest.mark.slow


class Faulty:
    """A repository over a correct one; each subclass has one bug."""

    def __init__(self, correct: Any) -> None:
        self._correct = correct

    def __getattr__(self, name: str) -> Any:
        return getattr(self._correct, name)


class PlansBeforeItChanges(Faulty):
    """Reads and plans, then stores outside the lock, if the plan is of this kind."""

    kind: str
    delay: float
    """Seconds for a concurrent change."""

    def change(
        self, organization_id: Any, plan: Any, /, **recorded: Any
    ) -> CatalogChanges[RecipientField]:
        planned: CatalogChanges[FieldDefinition] = CatalogChanges()

        def look(view: CatalogView) -> CatalogChanges[FieldDefinition]:
            nonlocal planned
            planned = plan(view)
            return CatalogChanges() if getattr(planned, self.kind) else planned

        applied = self._correct.change(organization_id, look, **recorded)
        if not getattr(planned, self.kind):
            return applied
        sleep(self.delay)

        def store(view: CatalogView) -> CatalogChanges[FieldDefinition]:
            if any(view.find(field.id) is None for field in planned.deleted):
                raise FieldNotFound
            return planned

        return self._correct.change(organization_id, store, **recorded)


class LosesUpdates(PlansBeforeItChanges):
    """Reads, then writes outside the lock."""

    kind, delay = "updated", 0.001


class ChecksBeforeItDeletes(PlansBeforeItChanges):
    """Reads and checks, then deletes outside the lock."""

    kind, delay = "deleted", 0.005


class ListsInTwoSteps(Faulty):
    """Reads the revision, then the fields."""

    def all(self, organization_id: Any, /) -> Catalog:
        revision = self._correct.all(organization_id).revision
        sleep(0.001)
        return evolve(self._correct.all(organization_id), revision=revision)


class ReportsAnOldRevision:
    """A validator that reports the revision of the previous request."""

    def __init__(self, correct: KeyValidator) -> None:
        self._correct = correct
        self._revision: int | None = None

    def validate(self, presented: str, /) -> Credential | Rejection:
        found = self._correct.validate(presented)
        if isinstance(found, Rejection):
            return found
        old, self._revision = self._revision, found.catalog_revision
        return evolve(found, catalog_revision=old)


class ReadsTheRevisionAfterwards(ResponseCache):
    """Stores a response under the revision that is current when the response is complete."""

    def __init__(self, max_bytes: int, fields: FieldRepository) -> None:
        super().__init__(max_bytes)
        self._fields = fields

    def _add(
        self, organization_id: OrganizationId, revision: int, target: str, response: ReadResponse
    ) -> None:
        sleep(0.001)
        revision = self._fields.all(organization_id).revision
        super()._add(organization_id, revision, target, response)


class CountsItsOwnWrites:
    """A repository and a validator that use a count of this service's writes as revision."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._writes = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._core.storage.fields, name)
        if name not in {"change", "create"}:
            return method

        def write(*arguments: Any, **options: Any) -> Any:
            self._writes += 1
            try:
                return method(*arguments, **options)
            finally:
                self._writes += 1

        return write

    def validate(self, presented: str, /) -> Credential | Rejection:
        found = self._core.validator.validate(presented)
        assert isinstance(found, Credential)
        return evolve(found, catalog_revision=self._writes)


@pytest.mark.parametrize("fault", [LosesUpdates, ChecksBeforeItDeletes, ListsInTwoSteps])
def test_a_bug_in_a_storage_is_found(core: Core, fault: type[Faulty]) -> None:
    assert_bug_is_found(lambda: users(core, fault(core.storage.fields)))


def test_a_lost_update_is_found_through_the_service(core: Core) -> None:
    faulty = LosesUpdates(core.storage.fields)
    assert_bug_is_found(lambda: clients(core, app(core, faulty)))


def test_a_stale_cached_response_is_found(core: Core) -> None:
    assert_bug_is_found(
        lambda: clients(core, app(core, validator=ReportsAnOldRevision(core.validator)))
    )


def test_a_response_cached_under_a_later_revision_is_found(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = partial(ReadsTheRevisionAfterwards, fields=core.storage.fields)
    monkeypatch.setattr("recipient_fields.entrypoints.http.app.ResponseCache", faulty)
    assert_bug_is_found(lambda: clients(core, app(core)))


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_a_service_that_ignores_the_writes_of_another_is_found(
    another: Callable[[], Core],
) -> None:
    cores = another(), another()

    def faulty(core: Core) -> Any:
        own = CountsItsOwnWrites(core)
        return app(core, own, own)

    assert_bug_is_found(lambda: clients(cores[0], *map(faulty, cores)))
