"""The check of the counters of API-managed fields."""

from __future__ import annotations

from ...support.postgres import execute

# A new organization, and one that was copied, has no counter before its first change.
_WRONG = """
    SELECT id FROM organizations
    WHERE revision IS DISTINCT FROM counted_revision AND last_sequence > 0
    OR revision = counted_revision AND api_field_count <> (
        SELECT count(*) FROM recipient_fields
        WHERE organization_id = organizations.id AND source = 'api'
    )
"""


def require_exact_counters(url: str) -> None:
    """Check that each organization whose fields this version has changed has an exact counter."""
    assert execute(url, _WRONG) == []
