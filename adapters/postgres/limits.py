"""How long the adapter waits for PostgreSQL."""

CALL_TIMEOUT = 2.0
"""Seconds for a call that states no limit of its own."""
CHECK_TIMEOUT = 0.5
"""Seconds for the readiness check."""
LOCK_TIMEOUT = "1s"
"""For each statement that needs a lock, as PostgreSQL writes durations."""
