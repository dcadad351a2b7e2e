"""The suite that every Storage passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    IntegrationRepository,
    OrganizationRepository,
    Storage,
)
from recipient_fields.domain import OrganizationId

from .api_keys import ApiKeyCases
from .concurrency import ConcurrencyCases
from .examples import NOW
from .fields import FieldCases
from .integrations import IntegrationCases
from .isolation import (
    AbsenceCases,
    ApiKeyAbsenceCases,
    ApiKeyIsolationCases,
    IsolationCases,
)
from .organizations import OrganizationCases
from .queries import QueryCases
from .revisions import FoundRevisionCases, RevisionCases
from .round_trip import RoundTripCases
from .sync_runs import SyncCases
from .uniqueness import UniquenessCases


class FieldRepositoryContract(
    RoundTripCases,
    FieldCases,
    UniquenessCases,
    RevisionCases,
    IsolationCases,
    AbsenceCases,
    QueryCases,
):
    """What a FieldRepository promises to one caller at a time.

    For a storage whose other ports are not written yet: the cases use `fields` of the storage,
    and `add` of its `organizations`. StorageContract contains these cases, too.
    """

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """The storage to judge, with the current schema; other cases may have left rows in it."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `storage`")

    @pytest.fixture
    def fields(self, storage: Storage) -> FieldRepository:
        """The storage's fields."""
        return storage.fields

    @pytest.fixture
    def organizations(self, storage: Storage) -> OrganizationRepository:
        """The storage's organizations."""
        return storage.organizations

    @pytest.fixture
    def ours(self, organizations: OrganizationRepository) -> OrganizationId:
        """A new organization."""
        return organizations.add("Ours", NOW).id

    @pytest.fixture
    def theirs(self, organizations: OrganizationRepository) -> OrganizationId:
        """Another new organization."""
        return organizations.add("Theirs", NOW).id


class StorageContract(
    FieldRepositoryContract,
    ApiKeyCases,
    ApiKeyIsolationCases,
    ApiKeyAbsenceCases,
    FoundRevisionCases,
    IntegrationCases,
    SyncCases,
    OrganizationCases,
    ConcurrencyCases,
):
    """What the ports promise. A subclass says by its fixture `storage` which storage is judged."""

    @pytest.fixture
    def api_keys(self, storage: Storage) -> ApiKeyRepository:
        """The storage's API keys."""
        return storage.api_keys

    @pytest.fixture
    def integrations(self, storage: Storage) -> IntegrationRepository:
        """The storage's integrations."""
        return storage.integrations

    def test_a_storage_that_answers_passes_its_check(self, storage: Storage) -> None:
        storage.check()

    def test_a_storage_can_be_closed_twice(self, storage: Storage) -> None:
        storage.close()
        storage.close()
