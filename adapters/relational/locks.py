"""The statements that lock an organization until the transaction ends.

A transaction begins with one of them, in the same round trip. So they have no placeholders.
"""

from __future__ import annotations

from recipient_fields.domain import OrganizationId

from .columns import storable_id


def lock_catalog(organization_id: OrganizationId) -> str:
    """Return the statement that locks the organization's catalog.

    Every transaction that changes fields begins with it, so what it has read still holds when it
    writes, and two changes can't deadlock. The creation in one statement, which PostgreSQL has,
    locks the same row itself.
    """
    return _lock(organization_id, "NO KEY UPDATE")


def keep_organization(organization_id: OrganizationId) -> str:
    """Return the statement that keeps the organization from deletion.

    A transaction that adds a row of an organization, or locks one, begins with this: a deletion
    locks the organization before its rows, so the two can't deadlock.
    """
    return _lock(organization_id, "KEY SHARE")


def lock_organization(organization_id: OrganizationId) -> str:
    """Return the statement that locks the organization for its deletion."""
    return _lock(organization_id, "UPDATE")


def _lock(organization_id: OrganizationId, strength: str) -> str:
    return f"SELECT FROM organizations WHERE id = {storable_id(organization_id):d} FOR {strength}"
