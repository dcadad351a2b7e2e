"""Organizations. None can see the fields of another."""

from __future__ import annotations

from datetime import datetime

from attrs import field, frozen

from ..errors import InvalidOrganization
from ..identity import OrganizationId
from ..instants import epoch_milliseconds, whole_milliseconds
from ..text import MAX_LINE_LENGTH, parse_name

__all__ = ["Organization", "OrganizationContents", "parse_organization_name"]


def parse_organization_name(text: str) -> str:
    """Return the name in NFC and trimmed.

    Raises: InvalidOrganization unless it is one line of 1 to 255 code points.
    """
    return parse_name(text, max_length=MAX_LINE_LENGTH, error=InvalidOrganization)


@frozen(kw_only=True)
class Organization:
    """A customer of the service, whose fields, integrations and keys no other one can see."""

    id: OrganizationId
    name: str = field(converter=parse_organization_name)
    created_at: datetime = field(converter=whole_milliseconds)

    @property
    def first_revision(self) -> int:
        """The revision of its first catalog: the time of its creation, in milliseconds since 1970.

        If a storage is recreated, its revisions then differ from those that clients have cached.
        """
        return epoch_milliseconds(self.created_at)


@frozen(kw_only=True)
class OrganizationContents:
    """The numbers of an organization's records, including inactive API keys."""

    fields: int
    api_keys: int
    integrations: int
    administrators: int
