"""The port of organizations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias

from recipient_fields.domain import (
    Organization,
    OrganizationContents,
    OrganizationId,
)

__all__ = ["OrganizationCheck", "OrganizationRepository"]

OrganizationCheck: TypeAlias = Callable[[OrganizationContents], None]
"""Raise if an organization with these contents may not be deleted."""


class OrganizationRepository(Protocol):
    """The organizations."""

    def all(self) -> tuple[Organization, ...]:
        """Return all organizations by ascending id."""

    def get(self, organization_id: OrganizationId, /) -> Organization:
        """Return the organization. Raises: OrganizationNotFound if it does not exist."""

    def add(self, name: str, created_at: datetime, /) -> Organization:
        """Store a new organization with an empty catalog at `Organization.first_revision`.

        Its id is greater than any that the storage has assigned to an organization before. Names
        need not be unique.
        Raises: InvalidOrganization if the name is not one line of 1 to 255 characters.
        """

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        """Store the organization's new name, and return the organization.

        Raises: InvalidOrganization if the name is not one line of 1 to 255 characters; then
        OrganizationNotFound if the organization does not exist.
        """

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        """Delete the organization with everything that it has, unless `check` raises.

        These are its fields, their history, its API keys, integrations, memberships and
        invitations. An administrator without another membership is deleted too, with all sessions
        and links.
        Return the numbers of deleted records, which `check` also receives; each membership counts
        as an administrator.
        The contents do not change between the call of `check` and the commit. Ids are never
        reused. A concurrent call takes effect before the deletion, or does not find the
        organization.
        Raises: OrganizationNotFound if the organization does not exist.
        """
