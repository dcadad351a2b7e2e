"""The recipient fields in the database and the transactions of this project."""

from django.db import connection

from recipient_fields import Core
from recipient_fields.adapters.postgres import PostgresConnectionStorage


def _connect():
    """Return Django's connection of this thread, after replacing it if the server has closed it."""
    ended = connection.connection is not None and connection.connection.closed
    if ended and not connection.in_atomic_block:
        connection.close()
    connection.ensure_connection()
    return connection.connection


storage = PostgresConnectionStorage(_connect, schema="recipient_fields")
core = Core.over(storage)
