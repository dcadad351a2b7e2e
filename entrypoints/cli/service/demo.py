"""Demonstration data: an organization, its fields at two ESPs, and an email that uses them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shlex import quote

from recipient_fields.application import AUDIT, OPERATOR_AUTHOR, Core, IssuedInvitation
from recipient_fields.domain import (
    AllowedValues,
    DataType,
    FieldChanges,
    FieldDraft,
    Organization,
    OrganizationId,
    PlainKey,
    RecipientFieldsError,
    Role,
    SecretToken,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField

ORGANIZATION = "Demonstration"
MANUAL_KEY = "preferred_shop"
EMAIL = "demo@recipient-fields.example"
CONTENT = """\
Hello {{recipient.first_name | default: "there"}},
tier: {{recipient.loyalty_tier | upper}}
{{#if recipient.loyalty_tier = "gold"}}
A gift is waiting for you.
{{/if}}
Unsubscribe: {{link.unsubscribe}}"""
"""An email. Its fields have other names and other syntax at each ESP."""
_PRINT_EMAILS = (
    "import json, sys;"
    r"""print(*(each["content"] for each in json.load(sys.stdin)["exports"]), sep="\n\n")"""
)
"""A program that prints the exports in a response, in which JSON escapes the line feeds."""


class OtherData(RecipientFieldsError):
    """The storage has data that is not the demonstration's."""


def create_demonstration(core: Core) -> PlainKey | None:
    """Add data to an empty storage and return an API key, or None if the storage has data."""
    if core.administration.list_organizations():
        return None
    with _unaudited():
        return _create(core)


def delete_demonstration(core: Core) -> None:
    """Delete the demonstration's organization, with all that was added to it.

    Raises: OtherData if the storage has another organization. Nothing is deleted then.
    """
    organizations = core.administration.list_organizations()
    for other in organizations:
        if not is_demonstration(core, other):
            raise OtherData(
                f"The storage also has the organization {other.id}, {other.name}, so nothing was"
                " deleted. Omit --reset, or use another storage: --storage sqlite:PATH."
            )
    with _unaudited():
        for organization in organizations:
            core.administration.delete_organization(organization.id)


def is_demonstration(core: Core, organization: Organization) -> bool:
    """Return whether the organization has the demonstration's name and administrator."""
    administrators = core.administrators.list_administrators(organization.id)
    emails = {each.email.text for each in administrators}
    return organization.name == ORGANIZATION and EMAIL in emails


@contextmanager
def _unaudited() -> Iterator[None]:
    """Return a context manager without audit records, which would hide the greeting."""

    def omit(_record: logging.LogRecord) -> bool:
        return False

    audit = logging.getLogger(AUDIT)
    audit.addFilter(omit)
    try:
        yield
    finally:
        audit.removeFilter(omit)


def _create(core: Core) -> PlainKey:
    organization = core.administration.create_organization(ORGANIZATION)
    for draft in _FROM_API:
        core.fields.create_field(organization.id, draft)
    core.fields.update_field(organization.id, _CHANGED_KEY, _CHANGE)
    for draft in _MANUAL:
        core.fields.by(OPERATOR_AUTHOR).create_field(organization.id, draft)
    for name, (esp, reported) in _INTEGRATIONS.items():
        integration = core.integrations.create_integration(organization.id, esp=esp, name=name)
        core.integrations.sync_fields(organization.id, integration.id, reported)
    _add_administrator(core, organization.id)
    return core.administration.issue_key(organization.id, name="Demonstration").plain


def _add_administrator(core: Core, organization_id: OrganizationId) -> None:
    """Add the administrator, who signs in with links: the password is not stored."""
    administrators, password = core.administrators, SecretToken.generate().reveal()
    invited = administrators.invite(organization_id, EMAIL, Role.ADMIN)
    if isinstance(invited, IssuedInvitation):  # The organization is new, so it has no member.
        token = invited.token.reveal()
        signed_in = administrators.accept_invitation(token, password, address="", user_agent="")
        administrators.sign_out(signed_in.token.reveal())


def create_sign_in_link(core: Core) -> SecretToken | None:
    """Return the token of a link for the demonstration's administrator, or None without one."""
    for organization in core.administration.list_organizations():
        for administrator in core.administrators.list_administrators(organization.id):
            if administrator.email.text == EMAIL:
                return core.administrators.create_sign_in_link(administrator.id).token
    return None


def curl_commands(core: Core, url: str, key: PlainKey) -> tuple[str, str, str]:
    """Return three commands.

    The first one exports an email for all integrations, and prints it. The statuses of the other
    responses are 201 and 403.
    """
    (organization,) = core.administration.list_organizations()
    integrations = core.integrations.list_integrations(organization.id)
    authorization = f"-H 'Authorization: Bearer {key.reveal()}'"
    curl = rf"curl -i -w '\n' {authorization}"
    exports, fields = f"{url}/api/v1/content_exports", f"{url}/api/v1/recipient_fields"
    export = _body({"content": CONTENT, "integration_ids": [each.id for each in integrations]})
    birthday = _body({"recipient_field": {"name": "Birthday", "data_type": "date"}})
    shop = _body({"recipient_field": {"name": "Shop"}})
    return (
        f"curl -s {authorization} {export} {quote(exports)} | python3 -c {quote(_PRINT_EMAILS)}",
        f"{curl} {birthday} {quote(fields)}",
        f"{curl} -X PATCH {shop} {quote(f'{fields}/{MANUAL_KEY}')}",
    )


def _body(document: Mapping[str, object]) -> str:
    return f"-H 'Content-Type: application/json' -d {quote(json.dumps(document))}"


_FROM_API = (
    FieldDraft(
        name="Loyalty tier",
        data_type=DataType.TEXT,
        allowed_values=AllowedValues(DataType.TEXT, ["gold", "silver"]),
    ),
    FieldDraft(name="Loyalty points", data_type=DataType.NUMBER),
    FieldDraft(name="Member since", data_type=DataType.DATE),
)
_CHANGED_KEY = "loyalty_tier"
_CHANGE = FieldChanges(allowed_values=["gold", "silver", "bronze"])
_MANUAL = (
    FieldDraft(name="Preferred shop", key=MANUAL_KEY, data_type=DataType.TEXT),
    FieldDraft(name="VIP", data_type=DataType.BOOLEAN),
)
_INTEGRATIONS = {
    "App": (Esp.BRAZE, (EspField(name="loyalty_tier", data_type=DataType.TEXT),)),
    "Newsletter": (
        Esp.KLAVIYO,
        (
            EspField(name="first_name", label="First name", data_type=DataType.TEXT, standard=True),
            EspField(name="Loyalty Tier", data_type=DataType.TEXT),
        ),
    ),
}
"""The ESP and the fields that it reports, by the name of the integration."""
