"""The Storage over the application's own connections, as part of its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import psycopg
from psycopg import Connection, Cursor, IsolationLevel
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from ..relational.database import CALL_TIMEOUT, Database, Row, RowLock, Work
from .citus.schema import is_distributed
from .connection import CHECK_TIMEOUT, LOCK_TIMEOUT
from .dialect import PostgresConnection, lock_statement
from .errors import every_error_translated, retry_once
from .schema import apply_migrations, require_sufficient
from .storage import PostgresRepositories

T = TypeVar("T")

_MIGRATION_TIMEOUT = 60.0

_LOCK_SCHEMAS = "SELECT pg_advisory_xact_lock(hashtext('recipient-fields schemas'))"
_LACKS_SCHEMA = "SELECT to_regnamespace(quote_ident(%s)) IS NULL"
_SETTINGS = """
    SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
        current_setting('search_path')
"""
_SET = """
    SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true),
        set_config('search_path', %s, true)
"""
_NO_LIMIT = "0"


class PostgresConnectionStorage(PostgresRepositories):
    """The repositories of a PostgreSQL database, over the application's own connections.

    If the connection is in a transaction, or not in autocommit mode, changes are part of the
    application's transaction: its commit stores them, its rollback undoes them. A method that
    raises undoes its own changes only. Otherwise each method is a transaction.

    The storage never closes the connection, and does not change its configuration. If the
    connection has no `lock_timeout` or `statement_timeout`, a method sets its own while it runs:
    1 s for a lock, 2 s for a statement.
    """

    belongs_to_calling_thread: Literal[True] = True

    def __init__(
        self, connect: Callable[[], Connection[Any]], *, schema: str | None = None
    ) -> None:
        """Use the connections that `connect` returns.

        `connect`: returns the open connection of the calling thread. `schema`: the schema of the
        tables; by default they are on the search path of the connection.
        """
        self._database = _ApplicationDatabase(connect, schema)
        self._schema = schema
        super().__init__(self._database, is_distributed=self._database.is_distributed)

    def migrate(self) -> int:
        """Create the schema if it is missing, apply the migrations that it lacks, and count them.

        All are part of the application's transaction if there is one, or else of one transaction.

        Raises: StorageUnavailable if the server does not permit it, or has the schema of a newer
        version of this package.
        """
        with every_error_translated():
            return self._database.run(self._migrate, seconds=_MIGRATION_TIMEOUT)

    def check(self) -> None:
        """Raise StorageUnavailable unless PostgreSQL responds and has the schema."""
        self._database.run(require_sufficient, seconds=CHECK_TIMEOUT)

    def close(self) -> None:
        """Do nothing: the application closes its connections."""

    def _migrate(self, connection: Connection[Any]) -> int:
        if self._schema is not None:
            connection.execute(_LOCK_SCHEMAS)
            [(missing,)] = connection.execute(_LACKS_SCHEMA, (self._schema,)).fetchall()
            if missing:
                connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(self._schema)))
        return apply_migrations(connection)


class _ApplicationDatabase(Database):
    """Transactions on the application's connections."""

    def __init__(self, connect: Callable[[], Connection[Any]], schema: str | None) -> None:
        self._connect = connect
        self._is_distributed: bool | None = None
        self._search_path = None if schema is None else Identifier(schema).as_string(None)

    def read(self, work: Work[T], /, *, seconds: float = CALL_TIMEOUT) -> T:
        """Do the same as `write`: a read that fails must not end the application's transaction."""
        return self.write(work, seconds=seconds)

    def write(
        self,
        work: Work[T],
        /,
        *,
        lock: RowLock | None = None,
        pipelined: bool = False,  # noqa: ARG002 - the application may use its connection for COPY
        seconds: float = CALL_TIMEOUT,
    ) -> T:
        def execute(connection: Connection[Any]) -> T:
            if lock is not None:
                connection.execute(lock_statement(lock))
            return work(_ApplicationConnection(connection, lock))

        return self.run(execute, seconds=seconds)

    def run(self, work: Callable[[Connection[Any]], T], *, seconds: float) -> T:
        """Return the result of the work, which is part of a transaction."""

        def attempt() -> T:
            with (
                _transaction_on(self._get_connection()) as connection,
                self._limits(connection, seconds),
            ):
                return work(connection)

        return retry_once(attempt)

    def is_distributed(self) -> bool:
        """Return whether the schema is distributed. The first call executes a query."""
        if self._is_distributed is None:
            self._is_distributed = self.run(is_distributed, seconds=CALL_TIMEOUT)
        return self._is_distributed

    def _get_connection(self) -> Connection[Any]:
        try:
            return self._connect()
        except Exception as error:
            # Frameworks wrap the error of the driver in one of their own.
            if isinstance(error.__cause__, psycopg.Error):
                raise error.__cause__ from None
            raise

    @contextmanager
    def _limits(self, connection: Connection[Any], seconds: float) -> Iterator[None]:
        """Set the timeouts and the search path for the block, and restore them after it."""
        [(lock, statement, path)] = connection.execute(_SETTINGS).fetchall()
        ours = (
            LOCK_TIMEOUT if lock == _NO_LIMIT else lock,
            f"{seconds * 1_000:.0f}ms" if statement == _NO_LIMIT else statement,
            self._search_path or path,
        )
        connection.execute(_SET, ours)
        yield
        # If the block raises, the rollback restores them.
        connection.execute(_SET, (lock, statement, path))


class _ApplicationConnection(PostgresConnection):
    """Executes statements in the application's transaction. A plan can execute others in it."""

    def __init__(self, connection: Connection[Any], lock: RowLock | None) -> None:
        super().__init__(connection)
        self._row_lock = lock

    def locked(self) -> Row | None:
        if self._row_lock is None:
            return None
        return self.driver.execute(lock_statement(self._row_lock)).fetchone()


@contextmanager
def _transaction_on(connection: Connection[Any]) -> Iterator[Connection[Any]]:
    """Run the block in a savepoint of the application's transaction, or in a new transaction.

    If the block raises, only its own changes are undone.
    """
    idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
    if idle and not connection.autocommit:
        # This begins the application's transaction, as any of its own statements would.
        Cursor(connection).execute("SELECT", prepare=False)
        idle = False
    view = _SessionView(connection)
    if idle:
        view.isolation_level = IsolationLevel.READ_COMMITTED
    with view.transaction():
        yield view


class _SessionView(Connection[TupleRow]):
    """The application's session with psycopg's default rows, cursors and adapters."""

    def __init__(self, connection: Connection[Any]) -> None:
        pgconn = connection.pgconn
        handlers = pgconn.notice_handler, pgconn.notify_handler
        super().__init__(pgconn)
        pgconn.notice_handler, pgconn.notify_handler = handlers  # Those of the application.
        self.prepare_threshold = None  # Names of prepared statements could clash.

    def __del__(self, _warn: object = None, /) -> None:
        """Omit psycopg's warning about an open connection: the application closes it."""
