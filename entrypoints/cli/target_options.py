"""The options of commands for the fields in a storage, or in a service with `--url`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import click
from attrs import frozen

from recipient_fields.application import OPERATOR, Core, MissingCredentials, RecipientFields
from recipient_fields.application.environment import read_variables
from recipient_fields.application.fields.plan_documents import SavedPlan
from recipient_fields.domain import (
    API,
    Author,
    KeyRefused,
    OrganizationId,
    OrganizationNotFound,
    StorageUnavailable,
)
from recipient_fields.domain.esp import EspNames, Integration

from ..service.selection import open_service
from .options import F, option
from .organization_option import (
    open_for_organization,
    optional_organization_option,
    organization_or_url_option,
)
from .output import one_line
from .precedence import selects_service
from .variables import API_KEY_VARIABLE

_AUTHOR = Author(API, name=OPERATOR)
"""The author of changes to a storage: only the API's channel may change API-managed fields."""

_url_option = option(
    "--url",
    metavar="URL",
    help="Use the service at this URL instead of a storage, with the API key in the environment"
    f" variable {API_KEY_VARIABLE}.",
)


@frozen
class FieldTarget:
    """The fields in a storage, and its other use cases. `core` is None for those of a service.

    `read_names` returns the ESP names of the fields.
    """

    fields: RecipientFields
    organization_id: OrganizationId
    read_names: Callable[[], EspNames]
    core: Core | None = None

    def apply_plan(self, plan: SavedPlan) -> None:
        """Change fields and names as planned. A plan with names requires a storage."""
        if plan.names and self.core is not None:
            self.core.integrations.by(_AUTHOR).apply_plan(self.organization_id, plan)
        else:
            self.fields.apply_batch(self.organization_id, plan.batch)

    def list_integrations(self) -> tuple[Integration, ...]:
        """Return the integrations at which names can be set. A service has none."""
        if self.core is None:
            return ()
        return self.core.content.list_integrations(self.organization_id)


def target_options(command: F) -> F:
    """Add the options `--organization` and `--url`. The command passes them to `open_target`."""
    return organization_or_url_option(_url_option(command))


def optional_target_options(command: F) -> F:
    """Add the same options to a command that also works without fields."""
    return optional_organization_option(_url_option(command))


def open_target(
    ctx: click.Context, organization: str | None, url: str | None, **settings: Any
) -> AbstractContextManager[FieldTarget]:
    """Return a context manager that opens the storage or the service that the options select.

    `settings` are those of `open_core`.
    Raises: click.UsageError if the options contradict each other.
    """
    if selects_service(ctx) and url is not None:
        return _open_service(url)
    if organization is None:
        raise click.UsageError("Missing option '--organization' or '--url'.")
    return _open_storage(ctx.obj, organization, **settings)


@contextmanager
def _open_storage(storage: str, organization: str, **settings: Any) -> Iterator[FieldTarget]:
    with open_for_organization(storage, organization, **settings) as (core, chosen):
        yield FieldTarget(
            core.fields.by(_AUTHOR),
            chosen.id,
            read_names=lambda: core.content.read_names(chosen.id)[0],
            core=core,
        )


@contextmanager
def _open_service(url: str) -> Iterator[FieldTarget]:
    values = read_variables([API_KEY_VARIABLE], os.environ)
    if not values:
        raise MissingCredentials("use --url", [API_KEY_VARIABLE])
    with ExitStack() as stack:
        try:
            client, organization_id = stack.enter_context(
                open_service(url, values[API_KEY_VARIABLE])
            )
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="'--url'") from None
        except OrganizationNotFound:
            raise click.ClickException(
                "There is no API of recipient fields at --url. Check its host and its path: they"
                " come before /api/v1."
            ) from None
        except KeyRefused as refused:
            raise click.ClickException(f"{API_KEY_VARIABLE}: {refused}") from None
        except StorageUnavailable as error:
            message = f"{url}: {error} Check --url, and that the service runs."
            raise click.ClickException(one_line(message)) from error

        def read_names() -> EspNames:
            fields = client.list_fields(organization_id).fields
            try:
                return EspNames(fields, client.list_integrations(organization_id))
            except OrganizationNotFound:
                raise click.ClickException(
                    "The service at --url does not list integrations: it is of an earlier version."
                    " Upgrade it, or use --storage and --organization."
                ) from None

        yield FieldTarget(client, organization_id, read_names)
