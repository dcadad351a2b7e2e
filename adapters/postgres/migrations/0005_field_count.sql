-- `api_field_count` is the number of API-managed fields while `counted_revision` is the revision of
-- the catalog. Processes of older versions change only the revision, and the next change by this
-- version counts again.
ALTER TABLE organizations
ADD COLUMN api_field_count bigint,
ADD COLUMN counted_revision bigint;
