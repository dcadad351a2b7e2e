-- `api_field_count` is the number of API-managed fields while `counted_revision` is the revision of
-- the catalog.
ALTER TABLE organizations ADD COLUMN api_field_count INTEGER;
ALTER TABLE organizations ADD COLUMN counted_revision INTEGER;
