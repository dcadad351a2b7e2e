"""The Storage in a PostgreSQL database, with its own connection pool."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager

from recipient_fields.application import ApiKeyRepository, FieldRepository, Snapshot

from ..relational.database import Database as RelationalDatabase
from ..relational.repositories import API_KEYS, RelationalRepositories
from ..url_options import boolean, integer
from .citus.api_keys import OWNED_KEYS, PostgresApiKeyRepository
from .connection import CHECK_TIMEOUT, parse_options, parse_url, require_compiled_driver
from .database import Database
from .fields import PostgresFieldRepository
from .schema import require_current, require_sufficient
from .transfer import Transfer

_MAX_POOL_SIZE = 1_000


class PostgresRepositories(RelationalRepositories):
    """The repositories of a PostgreSQL database.

    `is_distributed` returns whether Citus distributes the tables. `is_fast`: whether one statement
    is one transaction of the storage, with the storage's settings.
    """

    def __init__(
        self,
        database: RelationalDatabase,
        *,
        is_distributed: Callable[[], bool],
        is_fast: bool = False,
    ) -> None:
        super().__init__(database)
        self.fields: FieldRepository = PostgresFieldRepository(database, is_fast)
        self.api_keys: ApiKeyRepository = PostgresApiKeyRepository(database, is_distributed)


class PostgresStorage(PostgresRepositories):
    """The repositories of one PostgreSQL database, whose schema is up to date.

    Any number of threads and processes may use one database. Every method ends within three
    seconds, except `integrations.sync`, `organizations.delete` and `history.prune`.
    """

    def __init__(self, url: str, *, pool_size: int = 8, prepare: bool = True) -> None:
        """Open the storage of a URL such as `postgresql://user:password@host/database`.

        `pool_size`: how many connections calls can use at once, 1 to 1,000. The storage opens up to
        two more, for its readiness check and its monitor. If the URL has several hosts, it opens
        one more to each.

        `prepare`: whether to configure sessions and prepare statements in them. False for PgBouncer
        in transaction mode, which shares sessions between clients.

        Options in the URL override both, as in `postgresql://…/fields?pool_size=16&prepare=false`.

        Raises: InvalidStorageUrl if such an option is invalid. StorageUnavailable if the URL is
        malformed, the server can't be reached, the schema is not this version's, or psycopg has no
        C implementation.
        """
        require_compiled_driver()
        options = parse_options(url)
        if "pool_size" in options:
            pool_size = integer("pool_size", options["pool_size"], 1, _MAX_POOL_SIZE)
        if "prepare" in options:
            prepare = boolean("prepare", options["prepare"])
        parameters = parse_url(url)
        distributed = require_current(parameters)
        self.pool_size = pool_size
        self._database = Database(
            parameters, pool_size=pool_size, prepare=prepare, has_pipelines=distributed
        )
        self._transfer = Transfer(parameters, OWNED_KEYS if distributed else API_KEYS)
        super().__init__(
            self._database,
            is_distributed=lambda: distributed,
            is_fast=prepare and not distributed,
        )

    def check(self) -> None:
        """Raise StorageUnavailable unless PostgreSQL responds within 500 ms and has the schema."""
        self._database.check(require_sufficient, seconds=CHECK_TIMEOUT)

    def pool_use(self) -> dict[str, int]:
        """Return how many connections are `open` and `in_use`, and how many calls are `waiting`."""
        return self._database.pool_use()

    def identity(self) -> Hashable:
        """Return a value that is equal for two storages if they have the same tables."""
        return self._transfer.identity()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a context manager for a snapshot of the database, in one read-only transaction.

        The role needs `SELECT` on the sequences of the tables.
        """
        return self._transfer.snapshot()

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction.

        The role needs `UPDATE` on the sequences of the tables.
        """
        self._transfer.store(snapshot)

    def close(self) -> None:
        """Close every connection."""
        self._database.close()
