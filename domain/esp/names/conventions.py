"""What ESPs call fields by default: their own fields, and names that are derived from keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, count

from attrs import frozen

from ..derived_codes import derive_codes
from ..dialects import Esp
from ..errors import NoSafeForm


@frozen(kw_only=True)
class Convention:
    """How one ESP names fields.

    `standard_fields` contains the names of the ESP's own fields, by the keys that mean them. The
    API of the ESP does not list those that are `unlisted`, so a sync can't find them. Other names
    are the key, in capital letters if `capitals` is true. `max_length` is the maximum of their
    characters, if a key can be longer.
    """

    standard_fields: Mapping[str, str]
    unlisted: frozenset[str] = frozenset()
    capitals: bool = False
    max_length: int | None = None

    def derive_name(self, key: str) -> str:
        """Return the name that is derived from the key. It is not checked."""
        return key.upper() if self.capitals else key

    def shorten(self, key: str, suffix: str = "") -> str:
        """Return the derived name with the suffix. What precedes it is shortened if necessary."""
        derived = self.derive_name(key)
        if self.max_length is None:
            return derived + suffix
        return derived[: self.max_length - len(suffix)].rstrip("_") + suffix

    def keys_of(self, name: str) -> set[str]:
        """Return the keys whose standard name, or derived name, this is."""
        standard = {key for key, each in self.standard_fields.items() if each == name}
        return standard | {name.lower() if self.capitals else name}


_BRAZE = {
    "first_name": "first_name",
    "last_name": "last_name",
    "email": "email_address",
    "phone": "phone_number",
    "city": "city",
    "country": "country",
    "birthday": "date_of_birth",
}
_ACTIVECAMPAIGN = {
    "first_name": "FIRSTNAME",
    "last_name": "LASTNAME",
    "email": "EMAIL",
    "phone": "PHONE",
}

# Pages of the vendors establish the standard fields of SendGrid and Brevo, and secondary sources
# those of Salesforce, Mailchimp, Klaviyo, Braze, Customer.io and ActiveCampaign. Without a source
# for HubSpot and Iterable, their names are derived from the keys. No source says whether the API of
# Brevo lists EMAIL, which each contact has.
CONVENTIONS: Mapping[Esp, Convention] = {
    Esp.SALESFORCE: Convention(
        standard_fields={"email": "emailaddr"},
        unlisted=frozenset({"emailaddr"}),
    ),
    Esp.MAILCHIMP: Convention(
        standard_fields={
            "first_name": "FNAME",
            "last_name": "LNAME",
            "email": "EMAIL",
            "phone": "PHONE",
            "birthday": "BIRTHDAY",
        },
        unlisted=frozenset({"EMAIL"}),
        capitals=True,
        max_length=10,
    ),
    Esp.KLAVIYO: Convention(
        standard_fields={
            "first_name": "first_name",
            "last_name": "last_name",
            "email": "email",
            "phone": "phone_number",
            "city": "City",
            "country": "Country",
            "company": "organization",
        },
    ),
    Esp.BRAZE: Convention(standard_fields=_BRAZE, unlisted=frozenset(_BRAZE.values())),
    Esp.CUSTOMER_IO: Convention(standard_fields={"email": "email", "phone": "phone"}),
    Esp.HUBSPOT: Convention(standard_fields={}),
    Esp.SENDGRID: Convention(
        standard_fields={
            "first_name": "first_name",
            "last_name": "last_name",
            "email": "email",
            "phone": "phone_number",
            "city": "city",
            "country": "country",
        },
    ),
    Esp.ITERABLE: Convention(standard_fields={}),
    Esp.BREVO: Convention(
        standard_fields={
            "first_name": "FIRSTNAME",
            "last_name": "LASTNAME",
            "email": "EMAIL",
            "phone": "SMS",
        },
        unlisted=frozenset({"EMAIL"}),
        capitals=True,
    ),
    Esp.ACTIVECAMPAIGN: Convention(
        standard_fields=_ACTIVECAMPAIGN,
        unlisted=frozenset(_ACTIVECAMPAIGN.values()),
        capitals=True,
    ),
}


def has_safe_form(esp: Esp, name: str, *, standard: bool = False) -> bool:
    """Return whether the dialect of the ESP can refer to a field with this name."""
    with suppress(NoSafeForm):
        derive_codes(esp, name, standard=standard)
        return True
    return False


def possible_names(esp: Esp, key: str) -> Iterator[str]:
    """Yield names for the key that have a safe form, without an end.

    The first is the name that the convention derives, shortened if necessary. The others have a
    number: `LOYALTY_TI`, `LOYALTY_2`.
    """
    shorten = CONVENTIONS[esp].shorten
    names = chain([shorten(key)], (shorten(key, f"_{number}") for number in count(2)))
    return (name for name in names if has_safe_form(esp, name))
