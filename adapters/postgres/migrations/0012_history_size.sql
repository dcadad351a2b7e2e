-- The size of a history is that of its records up to `sized_sequence`, and of its shared values.
-- Processes of older versions store records without a size, and this version counts them later.
ALTER TABLE organizations
ADD COLUMN record_bytes bigint NOT NULL DEFAULT 0,
ADD COLUMN shared_value_bytes bigint NOT NULL DEFAULT 0,
ADD COLUMN inherited_bytes bigint NOT NULL DEFAULT 0,
ADD COLUMN sized_sequence bigint NOT NULL DEFAULT 0;

ALTER TABLE recipient_field_changes ADD COLUMN bytes bigint;

CREATE TABLE recipient_field_values (
    organization_id bigint NOT NULL,
    digest text COLLATE "C" NOT NULL,
    value text NOT NULL,
    last_sequence bigint NOT NULL,
    CONSTRAINT recipient_field_values_pk PRIMARY KEY (organization_id, digest)
);

CREATE INDEX recipient_field_values_by_record
ON recipient_field_values (organization_id, last_sequence);

-- Citus does not permit the key until the new table is distributed, too. Processes of older versions
-- delete organizations, but do not know the table.
DO $$ BEGIN IF to_regclass('api_key_owners') IS NULL THEN
    ALTER TABLE recipient_field_values ADD CONSTRAINT recipient_field_values_organization
    FOREIGN KEY (organization_id) REFERENCES organizations (id) ON DELETE CASCADE; END IF; END $$;
