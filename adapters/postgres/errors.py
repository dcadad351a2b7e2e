"""The translation of the driver's errors to ours, by SQLSTATE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import NoReturn, TypeVar

import psycopg

from recipient_fields.domain import (
    DigestTaken,
    InvalidField,
    RecipientFieldsError,
    Rule,
    StorageUnavailable,
    Violation,
)

from .circuit_breaker import CircuitOpen

KEY_ONCE = "recipient_fields_key_once"
"""The constraint that an organization has at most one field with a key."""

DIGEST_ONCE = "api_keys_digest_once"
"""The constraint that at most one API key has a digest."""

_OWNER_ONCE = "api_key_owners_pk"
"""The same on Citus, for all organizations."""

T = TypeVar("T")

_RETRY_DELAY = 0.05

_CONFLICTS = ("40001", "40P01")
_DEALLOCATED = "26000"
"""The prepared statement no longer exists in the session."""
_UNAVAILABLE = (
    *_CONFLICTS,
    _DEALLOCATED,
    "08",  # the connection failed
    "25006",  # read-only: no longer the primary
    "25P03",  # idle in a transaction for too long
    "25P04",  # in a transaction for too long
    "28",  # authentication failed
    "3D000",  # no such database
    "42P01",  # no such table: not migrated
    "53",  # out of connections, memory, disk
    "55P03",  # lock timeout
    "57014",  # cancelled, or over the statement timeout
    "57P0",  # shutting down, starting up, terminated
    "58030",  # input or output failed
)
_INTERNAL = "XX000"
_LOST_WORKER = "failure on connection marked as essential"
"""The start of Citus's message if a worker is lost while it executes a statement."""
_FAILED = "connection failed: "
"""What psycopg adds to the first line of libpq."""
_REFUSED_LOGINS = ("password authentication failed", "no password supplied")
"""What the server reports for a wrong password, and libpq for a missing one."""
_CHECK_LOGIN = (
    ". Check the user and the password in the URL of the storage, or in PGPASSWORD or PGPASSFILE if"
    " the URL has no password."
)
_MISSING_DATABASE = re.compile(r'database ".*" does not exist')
_CHECK_DATABASE = ". Create the database, or correct its name in the URL of the storage"
_FROM_SERVER = "FATAL: "
"""The server's own messages begin with it if it rejects a connection."""
_CHECK_SERVER = (
    ". Check the host and the port in the URL of the storage, that the server runs, and that it"
    " accepts connections from this machine"
)
_SHARD = r"(_[0-9]+)?"
"""What Citus appends to the name of a constraint in the errors of workers."""
_INVALID = {
    "22001": Rule.TOO_LONG,
    "22003": Rule.OUT_OF_RANGE,
    "22021": Rule.INVALID_CHARACTERS,
    "22P02": Rule.FORMAT,
    "22P05": Rule.INVALID_CHARACTERS,
    "54000": Rule.TOO_LONG,
    "54001": Rule.TOO_LONG,
}
_INVALID_MESSAGE = "PostgreSQL can't store this value."


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the errors of the driver in the block. Errors that show a defect pass unchanged."""
    try:
        yield
    except psycopg.Error as error:
        _raise_translated(error)


@contextmanager
def every_error_translated() -> Iterator[None]:
    """Raise StorageUnavailable for every error of the driver in the block."""
    try:
        yield
    except psycopg.Error as error:
        message = one_line(error)
        raise StorageUnavailable(f"PostgreSQL: {message}{_hint(error, message)}") from error


def _hint(error: psycopg.Error, message: str) -> str:
    if any(refused in message for refused in _REFUSED_LOGINS):
        return _CHECK_LOGIN
    if _MISSING_DATABASE.search(message) is not None:
        return _CHECK_DATABASE
    is_unreachable = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    return _CHECK_SERVER if is_unreachable and _FROM_SERVER not in message else ""


def retry_once(attempt: Callable[[], T], pause: Callable[[float], object] = sleep) -> T:
    """Return the result of the attempt, or of a second one if the first conflicted with another.

    Raises: what `translated_errors` raises.
    """
    try:
        return attempt()
    except psycopg.Error as error:
        if not is_retryable(error):
            _raise_translated(error)
    pause(_RETRY_DELAY)  # The other transaction gets the locks that this one has released.
    with translated_errors():
        return attempt()


def is_retryable(error: psycopg.Error) -> bool:
    """Return whether a retry can succeed: two transactions conflicted, or a session was reset."""
    return error.sqlstate in (*_CONFLICTS, _DEALLOCATED) or _violates(error, KEY_ONCE)


def one_line(error: psycopg.Error) -> str:
    """Return the message of the error on one line, without libpq's hints and repetitions.

    libpq repeats the message of a server that it tried with TLS and without.
    """
    lines = (error.diag.message_primary or str(error)).splitlines()
    different: dict[str, str] = {}
    for line in lines:
        if not line.startswith("\t"):
            different.setdefault(line.removeprefix(_FAILED).strip(), line.strip())
    return " ".join(different.values())


def _raise_translated(error: psycopg.Error) -> NoReturn:
    ours = _translation(error)
    if ours is None:
        raise error
    raise ours from error


def _translation(error: psycopg.Error) -> RecipientFieldsError | None:
    state = error.sqlstate
    if state is None:
        if isinstance(error, psycopg.DataError):  # psycopg rejects NUL in a text itself.
            return InvalidField([Violation(Rule.INVALID_CHARACTERS, _INVALID_MESSAGE)])
        if not isinstance(error, psycopg.OperationalError):
            return None
        logged = isinstance(error, CircuitOpen)
        return StorageUnavailable(f"PostgreSQL: {one_line(error)}", logged=logged)
    if state.startswith(_UNAVAILABLE) or _violates(error, KEY_ONCE) or _lost_a_worker(error):
        return StorageUnavailable(f"PostgreSQL: {one_line(error)} ({state})")
    if _violates(error, DIGEST_ONCE) or _violates(error, _OWNER_ONCE):
        return DigestTaken()
    if state in _INVALID:
        return InvalidField([Violation(_INVALID[state], _INVALID_MESSAGE)])
    return None


def _lost_a_worker(error: psycopg.Error) -> bool:
    return error.sqlstate == _INTERNAL and one_line(error).startswith(_LOST_WORKER)


def _violates(error: psycopg.Error, constraint: str) -> bool:
    # Citus reports the error of a worker without the name, but its message contains the name.
    name = error.diag.constraint_name or error.diag.message_primary or ""
    found = re.search(rf"\b{constraint}{_SHARD}\b", name)
    return error.sqlstate == "23505" and found is not None
