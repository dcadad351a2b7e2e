"""The recipient fields, in this project's database and its transactions."""

from django.db import connection

from recipient_fields.adapters.postgres import PostgresConnectionStorage
from recipient_fields.application import Core


def _connect():
    """Django's connection of this thread; a new one where the server has ended it meanwhile."""
    ended = connection.connection is not None and connection.connection.closed
    if ended and not connection.in_atomic_block:
        connection.close()
    connection.ensure_connection()
    return connection.connection


storage = PostgresConnectionStorage(_connect, schema="recipient_fields")
core = Core.over(storage)
