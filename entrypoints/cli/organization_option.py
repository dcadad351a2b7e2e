"""The option for the organization of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from recipient_fields.application import Core
from recipient_fields.application.fields.references import is_id
from recipient_fields.domain import (
    InvalidOrganization,
    Organization,
    OrganizationId,
    OrganizationNotFound,
    parse_organization_name,
)

from .options import Option, option
from .output import one_line, printable
from .storages import open_existing


class OrganizationReference(click.ParamType[str]):
    """The id or the name of an organization."""

    name = "id_or_name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text. A blank one is a usage error."""
        if not value.strip():
            self.fail("use the id or the exact name of an organization, for example 1.", param, ctx)
        return value


def _organization_option(help_text: str, *, required: bool) -> Option:
    return option(
        "--organization",
        required=required,
        type=OrganizationReference(),
        metavar="ID_OR_NAME",
        help=help_text,
    )


_HELP = "The organization's id or exact name."

organization_option: Option = _organization_option(_HELP, required=True)
optional_organization_option: Option = _organization_option(_HELP, required=False)
organization_or_url_option: Option = _organization_option(
    f"{_HELP} Required without --url.", required=False
)


@contextmanager
def open_for_organization(
    storage: str, organization: str, **settings: Any
) -> Iterator[tuple[Core, Organization]]:
    """Open the storage for one command, and find the organization with this id or exact name.

    `settings` are those of `open_core`.
    """
    with open_existing(storage, **settings) as core:
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
