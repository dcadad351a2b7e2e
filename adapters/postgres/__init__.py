"""Storage in PostgreSQL 14 or newer, for production."""

from recipient_fields.application.extras import requires_extra

with requires_extra("postgres", "psycopg", "psycopg_pool"):
    from .connection_storage import PostgresConnectionStorage
    from .schema import migrate, migrate_new
    from .storage import PostgresStorage

__all__ = ["PostgresConnectionStorage", "PostgresStorage", "migrate", "migrate_new"]
