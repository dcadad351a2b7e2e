-- `fields_size` is the sum of the sizes of the fields while `measured_revision` is the revision of
-- the catalog. Processes of older versions change only the revision.
ALTER TABLE organizations
ADD COLUMN fields_size bigint,
ADD COLUMN measured_revision bigint;
