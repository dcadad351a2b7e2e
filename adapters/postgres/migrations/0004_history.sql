-- Locks the organizations before the foreign key below does, because a stronger lock that follows a
-- weaker one deadlocks with a transaction that writes.
ALTER TABLE organizations
ADD COLUMN last_sequence bigint NOT NULL DEFAULT 0,
ADD COLUMN last_change_at timestamptz(3);

CREATE TABLE recipient_field_changes (
    organization_id bigint NOT NULL,
    sequence bigint NOT NULL,
    occurred_at timestamptz(3) NOT NULL,
    operation text NOT NULL,
    field_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    source text NOT NULL,
    author json NOT NULL,
    before json,
    after json,
    CONSTRAINT recipient_field_changes_pk PRIMARY KEY (organization_id, sequence),
    CONSTRAINT recipient_field_changes_organization
        FOREIGN KEY (organization_id) REFERENCES organizations (id),
    CONSTRAINT recipient_field_changes_operation
        CHECK (operation IN ('created', 'updated', 'deleted', 'restored')),
    CONSTRAINT recipient_field_changes_source
        CHECK (source IN ('api', 'manual', 'integration')),
    CONSTRAINT recipient_field_changes_before
        CHECK ((operation IN ('updated', 'deleted')) = (before IS NOT NULL)),
    CONSTRAINT recipient_field_changes_after
        CHECK ((operation <> 'deleted') = (after IS NOT NULL))
);

CREATE INDEX recipient_field_changes_by_field
ON recipient_field_changes (organization_id, field_id, sequence);

CREATE INDEX recipient_field_changes_by_key
ON recipient_field_changes (organization_id, key, sequence);

CREATE INDEX recipient_field_changes_by_time
ON recipient_field_changes (organization_id, occurred_at);
