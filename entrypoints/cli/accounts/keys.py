"""`recipient-fields keys`."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from recipient_fields.application import IssuedKey, system_clock
from recipient_fields.domain import Access, ApiKey, ApiKeyId, Organization, format_instant

from ..commands import CommandGroup
from ..options import confirm, flag, json_option, option, yes_option
from ..output import is_json, note, print_json, print_line, print_or_note, print_rows
from ..targets import open_for_organization, organization_option
from ..typed_options import DURATION, IDENTIFIER, LIFETIME
from .audit_log import audit_log_option


@click.group(cls=CommandGroup)
@audit_log_option
def keys() -> None:
    """Create, list, revoke and rotate API keys."""


@keys.command(changes_storage=True)
@organization_option
@option("--name", required=True, help="What the key is for: 1 to 100 characters.")
@option(
    "--expires-in",
    type=LIFETIME,
    metavar="DURATION|never",
    default="90d",
    help="When the key expires: after 1s to 366d, or never.",
)
@flag("--read-only", text="Allow reading only.")
@json_option
def create(organization: str, name: str, expires_in: timedelta | None, *, read_only: bool) -> None:
    """Create an API key. The command shows the full key only once."""
    with open_for_organization(organization) as (core, chosen):
        issued = core.administration.issue_key(
            chosen.id,
            name=name,
            access=Access.READ_ONLY if read_only else Access.READ_WRITE,
            lifetime=expires_in,
        )
    if is_json():
        print_json({"api_key": _render_issued(issued)})
    else:
        _show_issued(issued)


@keys.command("list")
@organization_option
@json_option
def list_(organization: str) -> None:
    """List an organization's API keys, without the keys themselves.

    STATE is active, expired or revoked. LAST USED AT is "never" if the key has not been used.
    """
    with open_for_organization(organization) as (core, chosen):
        rows = [_render(key) for key in core.administration.list_keys(chosen.id)]
    shown = ("id", "name", "display", "access", "state", "expires_at", "last_used_at")
    titles = [title.replace("_", " ").upper() for title in shown]
    cells = [[row[member] or "never" for member in shown] for row in rows]
    print_rows({"api_keys": rows}, titles, cells)


@keys.command(changes_storage=True)
@click.argument("key_id", type=IDENTIFIER)
@organization_option
@yes_option
@json_option
def revoke(key_id: int, organization: str, *, yes: bool) -> None:
    """Revoke an API key. From the next request, the service rejects it."""
    with open_for_organization(organization) as (core, chosen):
        key = core.administration.get_key(chosen.id, ApiKeyId(key_id))
        if not yes:
            confirm(f"Revoke {_described(key, chosen)}?")
        key = core.administration.revoke_key(chosen.id, key.id)
    print_or_note({"api_key": _render(key)}, f"Revoked API key {key.id}, {key.name}.")


@keys.command(changes_storage=True)
@click.argument("key_id", type=IDENTIFIER)
@organization_option
@option("--grace", type=DURATION, default="24h", help="How long the old key stays valid: 0s to 7d.")
@yes_option
@json_option
def rotate(key_id: int, organization: str, grace: timedelta, *, yes: bool) -> None:
    """Replace an API key. The command shows the full new key only once.

    The new key has the lifetime of the old one, from creation to expiry. Rotate only the newest
    key: the old one now has a short lifetime, which a second new key would have, too.
    """
    with open_for_organization(organization) as (core, chosen):
        key = core.administration.get_key(chosen.id, ApiKeyId(key_id))
        if not yes:
            latest = format_instant(system_clock() + grace)
            confirm(f"Replace {_described(key, chosen)}, and let it expire by {latest}?")
        issued, replaced = core.administration.rotate_key(chosen.id, key.id, grace=grace)
    end = _render_instant(replaced.expires_at)
    if is_json():
        document = {"id": replaced.id, "expires_at": end}
        print_json({"api_key": _render_issued(issued), "replaced": document})
    else:
        _show_issued(issued)
        note(f"API key {replaced.id} is valid until {end}.")


def _described(key: ApiKey, organization: Organization) -> str:
    return (
        f"API key {key.id}, {key.name} ({key.display}),"
        f" of organization {organization.id}, {organization.name}"
    )


def _show_issued(issued: IssuedKey) -> None:
    print_line(issued.plain.reveal())
    end = _render_instant(issued.api_key.expires_at) or "it is revoked"
    note(f"This is API key {issued.api_key.id}, valid until {end}. It is not shown again.")


def _render_issued(issued: IssuedKey) -> dict[str, object]:
    key = issued.api_key
    return {
        "id": key.id,
        "name": key.name,
        "key": issued.plain.reveal(),
        "access": key.access.value,
        "expires_at": _render_instant(key.expires_at),
    }


def _render(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "display": key.display,
        "access": key.access.value,
        "state": key.state(system_clock()).value,
        "created_at": _render_instant(key.created_at),
        "expires_at": _render_instant(key.expires_at),
        "last_used_at": _render_instant(key.last_used_at),
        "revoked_at": _render_instant(key.revoked_at),
    }


def _render_instant(at: datetime | None) -> str | None:
    return None if at is None else format_instant(at)
