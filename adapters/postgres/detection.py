"""The server of a database, which a storage detects when it is opened."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from .citus.schema import is_distributed
from .citus.server import Citus
from .server import Server
from .single_server import SingleServer


def detect_server(connection: Connection[Any]) -> Server:
    """Return Citus if it distributes the tables, or else a single server."""
    return Citus() if is_distributed(connection) else SingleServer()
