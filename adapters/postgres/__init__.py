"""The storage in PostgreSQL 14 or newer: for production."""

from recipient_fields.application.extras import brought_by

with brought_by("postgres", "psycopg", "psycopg_pool"):
    from .hosted import HostedPostgresStorage
    from .schema import migrate, migrate_new
    from .storage import PostgresStorage

__all__ = ["HostedPostgresStorage", "PostgresStorage", "migrate", "migrate_new"]
