"""`recipient-fields organizations`."""

from __future__ import annotations

import click

from recipient_fields.domain import Organization

from .options import existing, json_option, opened
from .output import note, print_json, print_table


@click.group()
def organizations() -> None:
    """Create and list organizations."""


@organizations.command()
@click.argument("name")
@json_option
@click.pass_obj
def create(storage: str, name: str, *, as_json: bool) -> None:
    """Create an organization."""
    with opened(storage) as core:
        organization = core.administration.create_organization(name)
    if as_json:
        print_json({"organization": _render(organization)})
    else:
        note(f"Created organization {organization.id}, {organization.name}.")


@organizations.command("list")
@json_option
@click.pass_obj
def list_(storage: str, *, as_json: bool) -> None:
    """List the organizations."""
    with existing(storage) as core:
        everyone = core.administration.list_organizations()
    if as_json:
        print_json({"organizations": [_render(organization) for organization in everyone]})
    else:
        print_table(("ID", "NAME"), [(o.id, o.name) for o in everyone])


def _render(organization: Organization) -> dict[str, object]:
    return {"id": organization.id, "name": organization.name}
