"""What PostgreSQL and its driver raise, and what that means here. SQLSTATE decides."""

from __future__ import annotations

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
"""The constraint that holds a key to one field of an organization."""

DIGEST_ONCE = "api_keys_digest_once"
"""The constraint that holds a digest to one API key."""

T = TypeVar("T")

_YIELD_SECONDS = 0.05

_RACES = ("40001", "40P01")
_FORGOTTEN = "26000"
"""The session does not know the prepared statement any more."""
_UNAVAILABLE = (
    *_RACES,
    _FORGOTTEN,
    "08",  # the connection failed
    "25006",  # read-only: no longer the primary
    "25P03",  # idle in a transaction for too long
    "25P04",  # in a transaction for too long
    "28",  # not let in
    "3D000",  # no such database
    "42P01",  # no such table: not migrated
    "53",  # out of connections, memory, disk
    "55P03",  # a lock was not to be had in time
    "57014",  # cancelled, or over the statement timeout
    "57P0",  # shutting down, starting up, terminated
    "58030",  # input or output failed
)
_REFUSED = {
    "22001": Rule.TOO_LONG,
    "22003": Rule.OUT_OF_RANGE,
    "22021": Rule.INVALID_CHARACTERS,
    "22P02": Rule.FORMAT,
    "22P05": Rule.INVALID_CHARACTERS,
    "54000": Rule.TOO_LONG,
    "54001": Rule.TOO_LONG,
}


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise what the block raises in the domain's words; a defect of ours as it is."""
    try:
        yield
    except psycopg.Error as error:
        _raise_translated(error)


@contextmanager
def every_error_translated() -> Iterator[None]:
    """Raise StorageUnavailable for any error of the driver in the block, such as a migration."""
    try:
        yield
    except psycopg.Error as error:
        raise StorageUnavailable(f"PostgreSQL: {one_line(error)}") from error


def twice(attempt: Callable[[], T]) -> T:
    """What the attempt gives, or where it met another transaction, a second one.

    What both raise is told as by `translated_errors`.
    """
    try:
        return attempt()
    except psycopg.Error as error:
        if not is_worth_another_try(error):
            _raise_translated(error)
    sleep(_YIELD_SECONDS)  # So that the other gets what this one has just given back.
    with translated_errors():
        return attempt()


def is_worth_another_try(error: psycopg.Error) -> bool:
    """Did two transactions meet, or was a connection reset, so that the same one may pass now?"""
    return error.sqlstate in (*_RACES, _FORGOTTEN) or _takes_a_key(error)


def one_line(error: psycopg.Error) -> str:
    """What the error says, on one line and without libpq's hints."""
    lines = (error.diag.message_primary or str(error)).splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("\t"))


def _raise_translated(error: psycopg.Error) -> NoReturn:
    ours = _translation(error)
    if ours is None:
        raise error
    raise ours from error


def _translation(error: psycopg.Error) -> RecipientFieldsError | None:
    state = error.sqlstate
    if state is None:
        if not isinstance(error, psycopg.OperationalError):
            return None
        logged = isinstance(error, CircuitOpen)
        return StorageUnavailable(f"PostgreSQL: {one_line(error)}", logged=logged)
    if state.startswith(_UNAVAILABLE) or _takes_a_key(error):
        return StorageUnavailable(f"PostgreSQL: {one_line(error)} ({state})")
    if _violates(error, DIGEST_ONCE):
        return DigestTaken()
    if state in _REFUSED:
        return InvalidField([Violation(_REFUSED[state], "PostgreSQL can't store this value.")])
    return None


def _takes_a_key(error: psycopg.Error) -> bool:
    return _violates(error, KEY_ONCE)


def _violates(error: psycopg.Error, constraint: str) -> bool:
    return error.sqlstate == "23505" and error.diag.constraint_name == constraint
