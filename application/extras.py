"""Modules that an extra of this distribution installs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recipient_fields.domain import RecipientFieldsError

__all__ = ["MissingExtra"]


class MissingExtra(RecipientFieldsError, ModuleNotFoundError):
    """The module `name` is not installed. The message names the extra that installs it."""

    name: str | None

    def __init__(self, extra: str, module: str) -> None:
        super().__init__(f"The module {module} is missing. Install recipient-fields[{extra}].")
        self.name = module


@contextmanager
def requires_extra(extra: str, *modules: str) -> Iterator[None]:
    """Return a context manager for the import of modules that the extra installs.

    Raises: MissingExtra if one of the modules is not installed. Other import errors are raised as
    they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in modules:
            raise
        raise MissingExtra(extra, error.name) from error
