"""The errors of a driver, as the errors that a port may raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recipient_fields.domain import StorageUnavailable

__all__ = ["unavailable_on"]


@contextmanager
def unavailable_on(*errors: type[Exception], technology: str) -> Iterator[None]:
    """Raise StorageUnavailable if the block raises one of these errors of the driver.

    The message begins with the technology and contains the error's own message, so leave out
    errors whose message can contain a password.
    """
    try:
        yield
    except errors as error:
        raise StorageUnavailable(f"{technology}: {error}") from error
