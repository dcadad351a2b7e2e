"""The check of the counters of API-managed fields and of bytes."""

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
    OR measured_revision = revision AND fields_size <> (
        SELECT coalesce(sum(octet_length(row_to_json(field)::text) + 1), 0) FROM (
            SELECT
                id, name, key, data_type, allowed_values, insertable, source, integration_id,
                esp_field_name, custom_insertion_code, custom_value_expression,
                '2026-11-20T09:15:00.123Z' AS created_at, '2026-11-20T09:15:00.123Z' AS updated_at
            FROM recipient_fields WHERE organization_id = organizations.id
        ) AS field
    )
"""


def require_exact_counters(url: str) -> None:
    """Check that each organization whose fields this version has changed has exact counters."""
    assert execute(url, _WRONG) == []
