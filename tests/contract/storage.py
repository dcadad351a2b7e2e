"""The tests for every Storage."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator

import pytest

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRepository,
    SessionRepository,
    Storage,
)
from recipient_fields.domain import Administrator, OrganizationId

from .administrators import (
    AdministratorCases,
    InvitationCases,
    LinkCases,
)
from .api_keys import ApiKeyCases
from .catalog_changes import CatalogChangesCases
from .catalog_sizes import CatalogSizeCases
from .catalog_views import CatalogViewCases
from .concurrency import ConcurrencyCases
from .creations import CreationCases
from .examples import NOW, grant
from .field_limits import FieldLimitCases
from .fields import FieldCases
from .history import FollowerCases, HistoryCases, PastCatalogCases
from .history_size import HistorySizeCases, PruningCases, RemovedRecordsCases
from .integrations import IntegrationCases
from .isolation import (
    AbsenceCases,
    ApiKeyAbsenceCases,
    ApiKeyIsolationCases,
    IsolationCases,
)
from .organizations import OrganizationCases
from .queries import QueryCases
from .restoration import RestorationCases
from .revisions import FoundRevisionCases, RevisionCases
from .round_trip import RoundTripCases
from .sessions import SessionCases
from .sync_runs import SyncCases
from .uniqueness import UniquenessCases

REPOSITORIES = (
    "organizations",
    "fields",
    "history",
    "api_keys",
    "integrations",
    "administrators",
    "sessions",
)
"""The attributes of a Storage, which are also the names of their fixtures."""


class FieldRepositoryContract(
    RoundTripCases,
    FieldCases,
    CatalogViewCases,
    UniquenessCases,
    RevisionCases,
    IsolationCases,
    AbsenceCases,
    QueryCases,
):
    """Tests of FieldRepository without concurrent calls.

    Use it while the other ports of a storage are not implemented. The cases use `fields` and
    `organizations.add` of the storage. StorageContract includes these cases.
    """

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """Return the storage, with the current schema. It may contain rows of other cases."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `storage`")

    @pytest.fixture
    def fields(self, storage: Storage) -> FieldRepository:
        """Return the fields of the storage."""
        return storage.fields

    @pytest.fixture
    def organizations(self, storage: Storage) -> OrganizationRepository:
        """Return the organizations of the storage."""
        return storage.organizations

    @pytest.fixture
    def ours(self, organizations: OrganizationRepository) -> OrganizationId:
        """Return a new organization."""
        return organizations.add("Ours", NOW).id

    @pytest.fixture
    def theirs(self, organizations: OrganizationRepository) -> OrganizationId:
        """Return another new organization."""
        return organizations.add("Theirs", NOW).id


class StorageContract(
    FieldRepositoryContract,
    ApiKeyCases,
    ApiKeyIsolationCases,
    ApiKeyAbsenceCases,
    FoundRevisionCases,
    IntegrationCases,
    SyncCases,
    AdministratorCases,
    InvitationCases,
    LinkCases,
    SessionCases,
    OrganizationCases,
    ConcurrencyCases,
    HistoryCases,
    PastCatalogCases,
    FollowerCases,
    HistorySizeCases,
    RemovedRecordsCases,
    PruningCases,
    RestorationCases,
    CatalogChangesCases,
    CreationCases,
    FieldLimitCases,
    CatalogSizeCases,
):
    """Tests of all ports of a Storage. The fixture `storage` of a subclass returns the storage.

    While some ports of a storage are not implemented, `implemented` has the attributes of those
    that are, such as `("organizations", "fields", "history")`. Cases that use others are skipped.
    """

    implemented: Collection[str] = REPOSITORIES

    @pytest.fixture(autouse=True)
    def _only_implemented(self, request: pytest.FixtureRequest) -> None:
        used = {*request.fixturenames} & {*REPOSITORIES}
        if "storage" in inspect.signature(request.function).parameters:
            used = {*REPOSITORIES}  # The case calls ports without their fixtures.
        missing = sorted(used.difference(self.implemented))
        if missing:
            pytest.skip(f"not implemented: {', '.join(missing)}")

    @pytest.fixture
    def history(self, storage: Storage) -> HistoryRepository:
        """Return the history of the storage."""
        return storage.history

    @pytest.fixture
    def api_keys(self, storage: Storage) -> ApiKeyRepository:
        """Return the API keys of the storage."""
        return storage.api_keys

    @pytest.fixture
    def integrations(self, storage: Storage) -> IntegrationRepository:
        """Return the integrations of the storage."""
        return storage.integrations

    @pytest.fixture
    def administrators(self, storage: Storage) -> AdministratorRepository:
        """Return the administrators of the storage."""
        return storage.administrators

    @pytest.fixture
    def dana(self, administrators: AdministratorRepository, ours: OrganizationId) -> Administrator:
        """Return an administrator of our organization only."""
        return grant(administrators, ours)

    @pytest.fixture
    def sessions(self, storage: Storage) -> SessionRepository:
        """Return the sessions of the storage."""
        return storage.sessions

    def test_a_working_storage_passes_its_check(self, storage: Storage) -> None:
        storage.check()

    def test_a_storage_can_be_closed_twice(self, storage: Storage) -> None:
        storage.close()
        storage.close()
