"""The Storage in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    IntegrationRepository,
    OrganizationRepository,
    Snapshot,
)

from .api_keys import PostgresApiKeyRepository
from .connection import parse_url, require_compiled_driver
from .database import Database
from .fields import PostgresFieldRepository
from .integrations import PostgresIntegrationRepository
from .limits import CHECK_TIMEOUT
from .organizations import PostgresOrganizationRepository
from .schema import require_current, require_sufficient
from .transfer import Transfer


class PostgresStorage:
    """The repositories of one PostgreSQL database, whose schema `migrate` has made.

    `threads`: how many will use it at once. `prepare`: whether its sessions are ours alone,
    so that they are set up and statements prepared there; not behind PgBouncer in transaction mode.
    Any number of processes may use one database.
    StorageUnavailable where the URL can't be read, the server can't be reached, its schema is not
    this version's, or psycopg lacks its C implementation.

    No method answers later than three seconds after it was called, but `integrations.sync`.
    """

    def __init__(self, url: str, *, pool_size: int = 8, prepare: bool = True) -> None:
        require_compiled_driver()
        parameters = parse_url(url)
        require_current(parameters)
        self._database = Database(parameters, pool_size=pool_size, prepare=prepare)
        self._transfer = Transfer(parameters)
        self.organizations: OrganizationRepository = PostgresOrganizationRepository(self._database)
        self.fields: FieldRepository = PostgresFieldRepository(self._database)
        self.integrations: IntegrationRepository = PostgresIntegrationRepository(self._database)
        self.api_keys: ApiKeyRepository = PostgresApiKeyRepository(self._database)

    def check(self) -> None:
        """StorageUnavailable unless the server answers within 500 ms and has the schema needed."""
        self._database.check(require_sufficient, seconds=CHECK_TIMEOUT)

    def pool_use(self) -> dict[str, int]:
        """How many connections are `open` and `in_use`, and how many callers are `waiting`."""
        return self._database.pool_use()

    def identity(self) -> Hashable:
        """Return what identifies the tables, whichever URL leads to them."""
        return self._transfer.identity()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return everything in the database, as one read-only transaction sees it.

        The role needs `SELECT` on the sequences of the tables, which their owner has.
        """
        return self._transfer.snapshot()

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction.

        The role needs `UPDATE` on the sequences of the tables, which their owner has.
        """
        self._transfer.store(snapshot)

    def close(self) -> None:
        """Close every connection."""
        self._database.close()
