"""Demonstration data: an organization, an API key, an administrator, a field of each origin."""

from __future__ import annotations

from shlex import quote

from recipient_fields.application import OPERATOR_AUTHOR, Core, IssuedInvitation
from recipient_fields.domain import (
    AllowedValues,
    DataType,
    EmailAddress,
    FieldDraft,
    OrganizationId,
    PlainKey,
    Role,
    SecretToken,
)
from recipient_fields.domain.esp import Esp, EspField

ORGANIZATION = "Demonstration"
MANUAL_KEY = "preferred_shop"
EMAIL = "demo@recipient-fields.example"


def create_demonstration(core: Core) -> PlainKey | None:
    """Add data to an empty storage and return an API key, or None if the storage has data."""
    if core.administration.list_organizations():
        return None
    organization = core.administration.create_organization(ORGANIZATION)
    core.fields.create_field(organization.id, _FROM_API)
    core.fields.by(OPERATOR_AUTHOR).create_field(organization.id, _MANUAL)
    audience = core.integrations.create_integration(
        organization.id, esp=Esp.MAILCHIMP, name="Demonstration audience"
    )
    core.integrations.sync_fields(organization.id, audience.id, [_SYNCED])
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
            if administrator.email == EmailAddress(EMAIL):
                return core.administrators.create_sign_in_link(administrator.id).token
    return None


def curl_commands(url: str, key: PlainKey) -> tuple[str, str, str]:
    """Return three commands. The statuses of their responses are 200, 201 and 403."""
    curl = rf"curl -i -w '\n' -H 'Authorization: Bearer {key.reveal()}'"
    fields = f"{url}/api/v1/recipient_fields"
    birthday = _body('{"name": "Birthday", "data_type": "date"}')
    shop = _body('{"name": "Shop"}')
    return (
        f"{curl} {quote(fields)}",
        f"{curl} {birthday} {quote(fields)}",
        f"{curl} -X PATCH {shop} {quote(f'{fields}/{MANUAL_KEY}')}",
    )


def _body(members: str) -> str:
    return f"""-H 'Content-Type: application/json' -d '{{"recipient_field": {members}}}'"""


_FROM_API = FieldDraft(
    name="Loyalty tier",
    data_type=DataType.TEXT,
    allowed_values=AllowedValues(DataType.TEXT, ["gold", "silver", "bronze"]),
)
_MANUAL = FieldDraft(name="Preferred shop", key=MANUAL_KEY, data_type=DataType.TEXT)
_SYNCED = EspField(name="FNAME", label="First name", data_type=DataType.TEXT)
