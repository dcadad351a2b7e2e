"""Organizations: the tenants. One never sees another's fields."""

from __future__ import annotations

from datetime import datetime

from attrs import field, frozen

from .errors import InvalidOrganization
from .identity import OrganizationId
from .instants import epoch_milliseconds, whole_milliseconds
from .text import LONGEST_LINE, parse_name


def parse_organization_name(text: str) -> str:
    """The name, NFC and trimmed; InvalidOrganization unless it is one line of 1 to 255."""
    return parse_name(text, longest=LONGEST_LINE, invalid=InvalidOrganization)


@frozen(kw_only=True)
class Organization:
    """One tenant."""

    id: OrganizationId
    name: str = field(converter=parse_organization_name)
    created_at: datetime = field(converter=whole_milliseconds)

    @property
    def first_revision(self) -> int:
        """The revision of the catalog it begins with: its birth in milliseconds since 1970.

        So that a storage made anew does not count through revisions that a client still has.
        """
        return epoch_milliseconds(self.created_at)


@frozen(kw_only=True)
class OrganizationContents:
    """How many fields, API keys and integrations an organization has, in every state."""

    fields: int
    api_keys: int
    integrations: int
