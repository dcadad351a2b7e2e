"""All repositories of one database."""

from __future__ import annotations

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRepository,
    SessionRepository,
)

from .administrators import RelationalAdministratorRepository
from .api_keys import RelationalApiKeyRepository
from .database import Database
from .fields import RelationalFieldRepository
from .history import RelationalHistoryRepository
from .integrations import RelationalIntegrationRepository
from .organizations import RelationalOrganizationRepository
from .sessions import RelationalSessionRepository
from .tables import OWNED


class RelationalRepositories:
    """The repositories that a Storage has, over the transactions of one database."""

    def __init__(self, database: Database) -> None:
        self.organizations: OrganizationRepository = RelationalOrganizationRepository(
            database, OWNED
        )
        self.fields: FieldRepository = RelationalFieldRepository(database)
        self.history: HistoryRepository = RelationalHistoryRepository(database)
        self.integrations: IntegrationRepository = RelationalIntegrationRepository(database)
        self.api_keys: ApiKeyRepository = RelationalApiKeyRepository(database)
        self.administrators: AdministratorRepository = RelationalAdministratorRepository(database)
        self.sessions: SessionRepository = RelationalSessionRepository(database)
