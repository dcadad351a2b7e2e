ALTER TABLE organizations ADD COLUMN last_sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN last_change_at INTEGER;

CREATE TABLE recipient_field_changes (
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    operation TEXT NOT NULL CHECK (operation IN ('created', 'updated', 'deleted', 'restored')),
    field_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('api', 'manual', 'integration')),
    author TEXT NOT NULL,
    before TEXT,
    after TEXT,
    occurred_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, sequence),
    CHECK ((operation IN ('updated', 'deleted')) = (before IS NOT NULL)),
    CHECK ((operation = 'deleted') = (after IS NULL))
) STRICT;

CREATE INDEX recipient_field_changes_by_field
ON recipient_field_changes (organization_id, field_id, sequence);

CREATE INDEX recipient_field_changes_by_key
ON recipient_field_changes (organization_id, key, sequence);

CREATE INDEX recipient_field_changes_by_time
ON recipient_field_changes (organization_id, occurred_at);
