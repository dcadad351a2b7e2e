"""The errors of commands, each as one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from recipient_fields.domain import (
    AdministratorNotFound,
    ApiKeyNotFound,
    CatalogTooLarge,
    FieldNotFound,
    RecipientFieldsError,
    StorageNotFound,
    StorageUnavailable,
)
from recipient_fields.domain.integrations import IntegrationNotFound, NotConnected

from .options import selects_service
from .output import printable

_ADVICE: Mapping[type[Exception], str] = {
    FieldNotFound: "`recipient-fields fields list` shows their ids and keys.",
    IntegrationNotFound: "`recipient-fields integrations list` shows their ids.",
    ApiKeyNotFound: "`recipient-fields keys list` shows their ids.",
    AdministratorNotFound: "`recipient-fields administrators list` shows their email addresses.",
    NotConnected: "`recipient-fields integrations connect` stores the credentials.",
}
"""The command that helps: for example, it lists what exists."""

_FIRST_STEPS = (
    "Check `--storage` or RECIPIENT_FIELDS_STORAGE. To create the file, run"
    " `recipient-fields organizations create NAME` or, with demonstration data,"
    " `recipient-fields serve --demo`."
)


@contextmanager
def reporting_failures(ctx: click.Context) -> Iterator[None]:
    """Return a context manager for a command, whose errors it raises as click.ClickException."""
    try:
        yield
    except CatalogTooLarge as error:
        raise click.ClickException(f"{error} {larger_catalogs(ctx)}") from error
    except tuple(_ADVICE) as error:
        advice = next(each for kind, each in _ADVICE.items() if isinstance(error, kind))
        raise click.ClickException(f"{error} {advice}") from error
    except StorageNotFound as error:
        raise click.ClickException(printable(f"{error} {_FIRST_STEPS}")) from error
    except RecipientFieldsError as error:
        message = " ".join(str(error).split())
        # Our own messages say what to do; those of a driver have no period.
        if isinstance(error, StorageUnavailable) and not message.endswith("."):
            message += ". `recipient-fields doctor` checks the storage and says what to do."
        raise click.ClickException(printable(message)) from error


def larger_catalogs(ctx: click.Context) -> str:
    """Return how to permit a larger list of an organization's fields."""
    if selects_service(ctx):
        return "The operator of the service can permit more with `serve --catalog-size`."
    return "To permit more, add --catalog-size, and use the same value for `serve`."
