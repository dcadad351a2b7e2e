"""The differences between a PostgreSQL server and Citus that the repositories see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import frozen
from psycopg import Connection

from recipient_fields.domain import FieldId, RecordedOperation

from .dialect import PostgresConnection


@frozen
class Batch:
    """Rows of one operation as a JSON document of limited size."""

    operation: RecordedOperation
    count: int
    added_api_fields: int
    added_size: int
    """The bytes that the rows add to the list, without the digits of ids that are not assigned."""
    rows: str
    bytes: int
    """The size of the documents before and after the changes, without the shared values."""
    values: Mapping[str, str]
    """The shared values of these documents, by digest."""


@frozen
class StoredBatch:
    """What a database has assigned to the rows of a batch."""

    occurred_at: int
    """The time of the records, in milliseconds since 1970."""
    ids: list[int]
    """The ids of the fields, in the order of the rows."""


class Server(Protocol):
    """How the tables of one database are changed: on one server, or on the workers of Citus.

    A storage chooses its server once, when it is opened.
    """

    splits_changes: bool
    """Whether a change of a field is several statements. A transaction sends them as a pipeline."""

    def connection(self, connection: Connection[Any], /) -> PostgresConnection:
        """Return what executes the shared statements on this connection."""

    def try_creation(
        self, connection: Connection[Any], values: Mapping[str, object], /
    ) -> FieldId | None:
        """Store and record a new field in the locked catalog, and return its id.

        The values are those of `bind_creation`. Return None, and store nothing, if a plan has to
        decide whether the field can be stored.
        """

    def store(
        self, connection: Connection[Any], batch: Batch, values: Mapping[str, object], /
    ) -> StoredBatch:
        """Store and record the batch in the locked catalog.

        The values are those of `store_changes`.

        Raises: OrganizationNotFound if the organization does not exist.
        """
