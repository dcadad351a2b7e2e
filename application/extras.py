"""What an import needs that only an extra of this distribution brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recipient_fields.domain import RecipientFieldsError


class MissingExtra(RecipientFieldsError, ModuleNotFoundError):
    """The module `name` is not installed; the message says which extra brings it."""

    def __init__(self, extra: str, module: str) -> None:
        super().__init__(
            f"Install recipient-fields[{extra}], which brings the module {module}.", name=module
        )


@contextmanager
def brought_by(extra: str, *modules: str) -> Iterator[None]:
    """Imports that need modules which the extra brings; MissingExtra where one is not installed.

    Whatever else an import lacks is a defect of ours, and is told as such.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in modules:
            raise
        raise MissingExtra(extra, error.name) from error
