"""The storage or the service that a command opens, and the options for it and its organization."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from recipient_fields.application import OPERATOR, Core, MissingCredentials, RecipientFields
from recipient_fields.application.environment import read_variables
from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import (
    API,
    Author,
    InvalidOrganization,
    KeyRefused,
    Organization,
    OrganizationId,
    OrganizationNotFound,
    StorageUnavailable,
    parse_organization_name,
)
from recipient_fields.domain.integrations import EspNames, Integration

from ..service.selection import existing_storage, installed_profiles, open_core, open_service
from .commands import API_KEY_VARIABLE
from .options import F, Option, Parsed, option, selects_service
from .output import one_line, printable

if TYPE_CHECKING:  # Only `apply` needs the documents of plans.
    from recipient_fields.application.fields.plans import Plan


@contextmanager
def open_for_command(storage: str, **settings: Any) -> Iterator[Core]:
    """Open the storage for one command. `settings` are those of `open_core`."""
    core = open_core(storage, **settings)
    try:
        yield core
    finally:
        core.storage.close()


def open_existing(**settings: Any) -> AbstractContextManager[Core]:
    """Open the storage of the command, which does not create a missing SQLite file.

    `settings` are those of `open_core`.
    """
    return open_for_command(existing_storage(click.get_current_context().obj), **settings)


def _parse_organization(text: str) -> str:
    if not text.strip():
        raise ValueError("use the id or the exact name of an organization, for example 1.")
    return text


ORGANIZATION_REFERENCE = Parsed("id_or_name", _parse_organization)
"""The id or the name of an organization."""


def _organization_option(help_text: str, *, required: bool) -> Option:
    return option("--organization", required=required, type=ORGANIZATION_REFERENCE, help=help_text)


_HELP = "The organization's id or exact name."

organization_option: Option = _organization_option(_HELP, required=True)
optional_organization_option: Option = _organization_option(_HELP, required=False)
organization_or_url_option: Option = _organization_option(
    f"{_HELP} Required without --url.", required=False
)


def field_options(command: F) -> F:
    """Add the argument for the id or the key of a field, and the option for its organization."""
    return click.argument("id_or_key")(organization_option(command))


@contextmanager
def open_for_organization(
    organization: str, **settings: Any
) -> Iterator[tuple[Core, Organization]]:
    """Open the storage of the command, and find the organization with this id or exact name.

    `settings` are those of `open_core`.
    """
    with open_existing(**settings) as core:
        yield core, _find(core, organization)


def _find(core: Core, text: str) -> Organization:
    found = _candidates(core, text)
    if not found:
        raise click.ClickException(
            f"There is no organization {one_line(text)}."
            " `recipient-fields organizations list` shows their ids and names."
        )
    if len(found) > 1:
        ids = ", ".join(str(each.id) for each in found)
        raise click.ClickException(
            f"{len(found)} organizations are called {printable(found[0].name)}."
            f" Use one of their ids: {ids}."
        )
    return found[0]


def _candidates(core: Core, text: str) -> list[Organization]:
    """Return the organization with this id, or all with this name.

    Digits are always an id, also with white space around them, which a name can't have. So no new
    name can change what a script means.
    """
    text = text.strip()
    if text.isdecimal():
        with suppress(OrganizationNotFound):
            if is_id(text):
                return [core.administration.get_organization(OrganizationId(int(text)))]
        return []
    with suppress(InvalidOrganization):
        name = parse_organization_name(text)
        return [each for each in core.administration.list_organizations() if each.name == name]
    return []


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

    def apply_plan(self, plan: Plan) -> None:
        """Change fields and names as planned. A plan with names requires a storage."""
        if plan.names and self.core is not None:
            integrations = self.core.integrations.by(_AUTHOR)
            integrations.apply_with_names(self.organization_id, plan.batch, plan.names_to_set)
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
    organization: str | None, url: str | None, **settings: Any
) -> AbstractContextManager[FieldTarget]:
    """Return a context manager that opens the storage or the service that the options select.

    `settings` are those of `open_core`.
    Raises: click.UsageError if the options contradict each other.
    """
    if url is not None and selects_service(click.get_current_context()):
        return open_service_target(url)
    if organization is None:
        raise click.UsageError("Missing option '--organization' or '--url'.")
    return open_storage_target(organization, **settings)


@contextmanager
def open_storage_target(organization: str, **settings: Any) -> Iterator[FieldTarget]:
    """Open the fields of an organization in a storage. `settings` are those of `open_core`."""
    with open_for_organization(organization, **settings) as (core, chosen):
        yield FieldTarget(
            core.fields.by(_AUTHOR),
            chosen.id,
            read_names=lambda: core.content.read_names(chosen.id)[0],
            core=core,
        )


@contextmanager
def open_service_target(url: str) -> Iterator[FieldTarget]:
    """Open the fields at a service, with the API key in the environment."""
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
                integrations = client.list_integrations(organization_id)
                return EspNames(fields, integrations, installed_profiles())
            except OrganizationNotFound:
                raise click.ClickException(
                    "The service at --url does not list integrations: it is of an earlier version."
                    " Upgrade it, or use --storage and --organization."
                ) from None

        yield FieldTarget(client, organization_id, read_names)
