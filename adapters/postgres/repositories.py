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

from ..relational.administrators import RelationalAdministratorRepository
from ..relational.api_keys import RelationalApiKeyRepository
from ..relational.organizations import RelationalOrganizationRepository
from ..relational.sessions import RelationalSessionRepository
from .fields import PostgresFieldRepository
from .history import PostgresHistoryRepository
from .integrations import PostgresIntegrationRepository
from .organizations import advance_revision, insert_counted_organization
from .relational import PostgresDatabase
from .transactions import Transactions


class PostgresRepositories:
    """The repositories that a Storage has, over the transactions of one database."""

    def __init__(self, transactions: Transactions) -> None:
        database = PostgresDatabase(transactions)
        self.organizations: OrganizationRepository = RelationalOrganizationRepository(
            database, insert_counted_organization
        )
        self.fields: FieldRepository = PostgresFieldRepository(database, transactions)
        self.history: HistoryRepository = PostgresHistoryRepository(database)
        self.integrations: IntegrationRepository = PostgresIntegrationRepository(
            database, advance_revision, transactions
        )
        self.api_keys: ApiKeyRepository = RelationalApiKeyRepository(database)
        self.administrators: AdministratorRepository = RelationalAdministratorRepository(database)
        self.sessions: SessionRepository = RelationalSessionRepository(database)
