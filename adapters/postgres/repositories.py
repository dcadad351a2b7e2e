"""All repositories of one PostgreSQL database."""

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

from .administrators import PostgresAdministratorRepository
from .api_keys import PostgresApiKeyRepository
from .fields import PostgresFieldRepository
from .history import PostgresHistoryRepository
from .integrations import PostgresIntegrationRepository
from .organizations import PostgresOrganizationRepository
from .sessions import PostgresSessionRepository
from .transactions import Transactions


class PostgresRepositories:
    """The repositories that a Storage has, over the transactions of one database."""

    def __init__(self, database: Transactions) -> None:
        self.organizations: OrganizationRepository = PostgresOrganizationRepository(database)
        self.fields: FieldRepository = PostgresFieldRepository(database)
        self.history: HistoryRepository = PostgresHistoryRepository(database)
        self.integrations: IntegrationRepository = PostgresIntegrationRepository(database)
        self.api_keys: ApiKeyRepository = PostgresApiKeyRepository(database)
        self.administrators: AdministratorRepository = PostgresAdministratorRepository(database)
        self.sessions: SessionRepository = PostgresSessionRepository(database)
