"""How long PostgreSQL is waited for."""

ANSWER_SECONDS = 2.0
"""A call that names no limit of its own."""
CHECK_SECONDS = 0.5
LOCK_TIMEOUT = "1s"
"""A statement that needs a lock, as PostgreSQL writes it."""
