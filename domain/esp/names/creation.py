"""How to create a field at each ESP, for names that a sync has not found."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from ..dialects import Esp


class _Evidence(Enum):
    """What an instruction relies on. The values are the sentences that follow it."""

    VENDOR = ""
    THIRD_PARTY = " A third party describes this request."
    UNCONFIRMED = " No page of the vendor confirms this: try it in your account first."


@frozen
class _Creation:
    """The instruction to create the field NAME, and what it relies on."""

    instruction: str
    evidence: _Evidence


_CREATIONS: Mapping[Esp, _Creation] = {
    Esp.SALESFORCE: _Creation(
        "Add the field NAME to the data extension of the email.", _Evidence.UNCONFIRMED
    ),
    Esp.MAILCHIMP: _Creation(
        "Add a merge field with the tag NAME to the audience:"
        " POST /3.0/lists/{list_id}/merge-fields.",
        _Evidence.THIRD_PARTY,
    ),
    Esp.KLAVIYO: _Creation(
        "Set the property NAME of a profile, which creates it: POST /api/profile-import.",
        _Evidence.UNCONFIRMED,
    ),
    Esp.BRAZE: _Creation(
        "Add the custom attribute NAME in the dashboard, or set it for a user: POST /users/track.",
        _Evidence.UNCONFIRMED,
    ),
    Esp.CUSTOMER_IO: _Creation(
        "Set the attribute NAME of a person, which creates it: PUT /api/v1/customers/{id}.",
        _Evidence.UNCONFIRMED,
    ),
    Esp.HUBSPOT: _Creation(
        "Create the contact property NAME: POST /crm/v3/properties/contacts.", _Evidence.VENDOR
    ),
    Esp.SENDGRID: _Creation(
        "Create the custom field NAME: POST /v3/marketing/field_definitions.", _Evidence.VENDOR
    ),
    Esp.ITERABLE: _Creation(
        "Set the field NAME of a user, which creates it: POST /api/users/update.",
        _Evidence.UNCONFIRMED,
    ),
    Esp.BREVO: _Creation(
        "Create the contact attribute NAME: POST /v3/contacts/attributes/normal/NAME.",
        _Evidence.THIRD_PARTY,
    ),
    Esp.ACTIVECAMPAIGN: _Creation(
        "Create a field with the personalization tag NAME: POST /api/3/fields. Then add it to the"
        " lists: POST /api/3/fieldRels.",
        _Evidence.THIRD_PARTY,
    ),
}


def explain_creation(esp: Esp, name: str = "NAME") -> str:
    """Return the sentences that say how a person creates a field with this name at the ESP."""
    creation = _CREATIONS[esp]
    return f"{creation.instruction.replace('NAME', name)}{creation.evidence.value}"
