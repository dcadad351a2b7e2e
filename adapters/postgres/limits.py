"""The timeouts of calls to PostgreSQL."""

CALL_TIMEOUT = 2.0
"""Seconds for a call without another timeout."""
CHECK_TIMEOUT = 0.5
"""Seconds for the readiness check. If the storage has not responded then, `/readyz` is 503."""
LOCK_TIMEOUT = "1s"
"""The time for which a statement waits for a lock, in the syntax of PostgreSQL.

It is shorter than the call, so that PostgreSQL reports the lock as the cause.
"""
