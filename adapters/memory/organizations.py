"""The organizations in memory."""

from __future__ import annotations

from datetime import datetime
from threading import RLock

from attrs import evolve

from recipient_fields.application import (
    OrganizationCheck,
    OrganizationRepository,
)
from recipient_fields.domain import (
    Organization,
    OrganizationContents,
    OrganizationId,
    parse_organization_name,
)

from .administrators import MemoryAdministratorRepository
from .api_keys import MemoryApiKeyRepository
from .fields import MemoryFieldRepository
from .integrations import MemoryIntegrationRepository
from .records import Organizations


class MemoryOrganizationRepository(OrganizationRepository):
    """The organizations in memory. Deleting one deletes its records in the other repositories."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
        integrations: MemoryIntegrationRepository,
        api_keys: MemoryApiKeyRepository,
        administrators: MemoryAdministratorRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._integrations = integrations
        self._api_keys = api_keys
        self._administrators = administrators

    def all(self) -> tuple[Organization, ...]:
        with self._lock:
            return self._organizations.all()

    def get(self, organization_id: OrganizationId, /) -> Organization:
        with self._lock:
            return self._organizations.get(organization_id)

    def add(self, name: str, created_at: datetime, /) -> Organization:
        with self._lock:
            return self._organizations.add(name, created_at)

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        parsed = parse_organization_name(name)
        with self._lock:
            renamed = evolve(self._organizations.get(organization_id), name=parsed)
            self._organizations.replace(renamed)
            return renamed

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        with self._lock:
            contents = OrganizationContents(
                fields=len(self._fields.all(organization_id).fields),
                api_keys=len(self._api_keys.all(organization_id)),
                integrations=len(self._integrations.all(organization_id)),
                administrators=len(self._administrators.all(organization_id)),
            )
            check(contents)
            for owned in (
                self._api_keys,
                self._integrations,
                self._fields,
                self._administrators,
            ):
                owned.delete_all(organization_id)
            self._organizations.remove(organization_id)
            return contents
