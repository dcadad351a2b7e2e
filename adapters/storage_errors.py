"""For authors of storages: the translation of driver errors to errors that the ports permit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recipient_fields.domain import StorageUnavailable


@contextmanager
def unavailable_on(*errors: type[Exception], technology: str) -> Iterator[None]:
    """Raise StorageUnavailable if the block raises one of these errors of the driver.

    The message contains the technology and the message of the driver's error. Do not pass errors
    whose message can contain a password.
    """
    try:
        yield
    except errors as error:
        raise StorageUnavailable(f"{technology}: {error}") from error
