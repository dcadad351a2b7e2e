-- The size of a history is that of its records up to `sized_sequence`, and of its shared values.
-- Processes of older versions store records without a size, and this version counts them later.
ALTER TABLE organizations ADD COLUMN record_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN shared_value_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN inherited_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN sized_sequence INTEGER NOT NULL DEFAULT 0;

ALTER TABLE recipient_field_changes ADD COLUMN bytes INTEGER;

CREATE TABLE recipient_field_values (
    organization_id INTEGER NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    value TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    PRIMARY KEY (organization_id, digest)
) STRICT;

CREATE INDEX recipient_field_values_by_record
ON recipient_field_values (organization_id, last_sequence);
