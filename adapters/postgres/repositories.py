"""All repositories of one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable

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
from ..relational.database import Database
from ..relational.history import RelationalHistoryRepository
from ..relational.integrations import RelationalIntegrationRepository
from ..relational.organizations import RelationalOrganizationRepository
from ..relational.sessions import RelationalSessionRepository
from .citus.api_keys import PostgresApiKeyRepository
from .fields import PostgresFieldRepository


class PostgresRepositories:
    """The repositories that a Storage has, over the transactions of one database."""

    def __init__(
        self, database: Database, *, is_distributed: Callable[[], bool], is_fast: bool = False
    ) -> None:
        """`is_distributed` returns whether Citus distributes the tables."""
        self.organizations: OrganizationRepository = RelationalOrganizationRepository(database)
        self.fields: FieldRepository = PostgresFieldRepository(database, is_fast)
        self.history: HistoryRepository = RelationalHistoryRepository(database)
        self.integrations: IntegrationRepository = RelationalIntegrationRepository(database)
        self.api_keys: ApiKeyRepository = PostgresApiKeyRepository(database, is_distributed)
        self.administrators: AdministratorRepository = RelationalAdministratorRepository(database)
        self.sessions: SessionRepository = RelationalSessionRepository(database)
