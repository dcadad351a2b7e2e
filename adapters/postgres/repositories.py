"""All repositories of one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable

from ..relational.database import Database
from ..relational.repositories import RelationalRepositories
from .citus.api_keys import PostgresApiKeyRepository
from .fields import PostgresFieldRepository


class PostgresRepositories(RelationalRepositories):
    """The repositories of a PostgreSQL database.

    `is_distributed` returns whether Citus distributes the tables. `is_fast`: whether one statement
    is one transaction of the storage, with the storage's settings.
    """

    def __init__(
        self, database: Database, *, is_distributed: Callable[[], bool], is_fast: bool = False
    ) -> None:
        super().__init__(database)
        self.fields = PostgresFieldRepository(database, is_fast)
        self.api_keys = PostgresApiKeyRepository(database, is_distributed)
