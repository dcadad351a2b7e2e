"""The tests for storages: a suite for each group of repositories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    ConsoleStorage,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    IntegrationStorage,
    OrganizationRepository,
    SessionRepository,
    Storage,
    StorageGroup,
)
from recipient_fields.domain import Administrator, OrganizationId

from .administrators import (
    AccountConcurrencyCases,
    AdministratorCases,
    InvitationCases,
    LinkCases,
)
from .api_keys import ApiKeyCases
from .catalog_changes import CatalogChangesCases, RecordedChangesCases
from .catalog_sizes import CatalogSizeCases, FoundSizeCases
from .catalog_views import CatalogViewCases
from .concurrency import ConcurrencyCases
from .creations import CreationCases, RecordedCreationCases
from .esp_connections import EspConnectionCases
from .esp_names import EspNameCases
from .examples import NOW, grant
from .field_limits import FieldLimitCases, RestoredFieldLimitCases, SyncedFieldLimitCases
from .fields import FieldCases
from .groups import with_history
from .history import FollowerCases, HistoryCases, PastCatalogCases, SyncHistoryCases
from .history_size import HistorySizeCases, PruningCases, RemovedRecordsCases
from .integration_concurrency import IntegrationConcurrencyCases
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


class StorageFixtures:
    """The fixtures of the suites: the storage, its repositories, and two organizations."""

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """Return the storage, with the current schema. It may contain rows of other cases.

        All cases can share it: then the fixture has the scope of the class.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `storage`")

    @pytest.fixture
    def organizations(self, storage: Storage) -> OrganizationRepository:
        """Return the organizations of the storage."""
        return storage.organizations

    @pytest.fixture
    def fields(self, storage: Storage) -> FieldRepository:
        """Return the fields of the storage."""
        return storage.fields

    @pytest.fixture
    def history(self, storage: Storage) -> HistoryRepository:
        """Return the history of the storage. Skip cases that need it if the storage has none."""
        return with_history(storage).history

    @pytest.fixture
    def ours(self, organizations: OrganizationRepository) -> OrganizationId:
        """Return a new organization."""
        return organizations.add("Ours", NOW).id

    @pytest.fixture
    def theirs(self, organizations: OrganizationRepository) -> OrganizationId:
        """Return another new organization."""
        return organizations.add("Theirs", NOW).id


class FieldRepositoryContract(
    StorageFixtures,
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
    `organizations.add` of the storage. CatalogContract includes these cases.
    """


class CheckCases(StorageFixtures):
    """Cases for the check and the closing of a storage."""

    @pytest.fixture
    def storage_to_close(self, storage: Storage) -> Storage:
        """Return a storage that no other case needs. Override this if the cases share `storage`."""
        return storage

    def test_a_working_storage_passes_its_check(self, storage: Storage) -> None:
        storage.check()

    def test_a_storage_can_be_closed_twice(self, storage_to_close: Storage) -> None:
        storage_to_close.close()
        storage_to_close.close()


class SuiteCases(StorageFixtures):
    """Cases for the suites that a class of tests uses: those of the groups of the storage."""

    def test_the_suites_of_exactly_the_groups_of_the_storage_are_used(
        self, storage: Storage
    ) -> None:
        assert isinstance(self, CatalogContract), "Every storage must use CatalogContract."
        for group, suite in _SUITES.items():
            found = [each for each in group.repositories if getattr(storage, each, None)]
            missing = [each for each in group.repositories if each not in found]
            part = f"The storage has {', '.join(found)}, but not {', '.join(missing)}."
            assert not (found and missing), part
            if found:
                message = f"The storage has {group.value}, so use {suite.__name__}."
                assert isinstance(self, suite), message
            else:
                message = f"The storage has no {group.value}, so do not use {suite.__name__}."
                assert not isinstance(self, suite), message


class CatalogContract(
    FieldRepositoryContract,
    CheckCases,
    SuiteCases,
    OrganizationCases,
    ConcurrencyCases,
    CatalogChangesCases,
    CreationCases,
    FieldLimitCases,
    CatalogSizeCases,
):
    """Tests of organizations and fields, which every storage has.

    The fixture `storage` of a subclass returns the storage. For each optional group of the storage,
    the subclass also uses the suite of the group.
    """


class HistoryContract(
    SuiteCases,
    HistoryCases,
    PastCatalogCases,
    FollowerCases,
    HistorySizeCases,
    RemovedRecordsCases,
    PruningCases,
    RestorationCases,
    RecordedChangesCases,
    RecordedCreationCases,
    RestoredFieldLimitCases,
):
    """Tests of the history of the fields, for a HistoryStorage."""


class IntegrationContract(
    SuiteCases,
    ApiKeyCases,
    ApiKeyIsolationCases,
    ApiKeyAbsenceCases,
    FoundRevisionCases,
    FoundSizeCases,
    IntegrationCases,
    SyncCases,
    EspNameCases,
    EspConnectionCases,
    SyncHistoryCases,
    SyncedFieldLimitCases,
    IntegrationConcurrencyCases,
):
    """Tests of API keys and integrations, for an IntegrationStorage.

    Cases that need the history are skipped if the storage has none.
    """

    @pytest.fixture
    def api_keys(self, storage: IntegrationStorage) -> ApiKeyRepository:
        """Return the API keys of the storage."""
        return storage.api_keys

    @pytest.fixture
    def integrations(self, storage: IntegrationStorage) -> IntegrationRepository:
        """Return the integrations of the storage."""
        return storage.integrations


class ConsoleContract(
    SuiteCases,
    AdministratorCases,
    InvitationCases,
    LinkCases,
    SessionCases,
    AccountConcurrencyCases,
):
    """Tests of console accounts, for a ConsoleStorage."""

    @pytest.fixture
    def administrators(self, storage: ConsoleStorage) -> AdministratorRepository:
        """Return the administrators of the storage."""
        return storage.administrators

    @pytest.fixture
    def dana(self, administrators: AdministratorRepository, ours: OrganizationId) -> Administrator:
        """Return an administrator of our organization only."""
        return grant(administrators, ours)

    @pytest.fixture
    def sessions(self, storage: ConsoleStorage) -> SessionRepository:
        """Return the sessions of the storage."""
        return storage.sessions


class StorageContract(CatalogContract, HistoryContract, IntegrationContract, ConsoleContract):
    """Tests of a CompleteStorage: the suites of all groups."""


_SUITES: Final[Mapping[StorageGroup, type[SuiteCases]]] = {
    StorageGroup.HISTORY: HistoryContract,
    StorageGroup.INTEGRATIONS: IntegrationContract,
    StorageGroup.CONSOLE_ACCOUNTS: ConsoleContract,
}
