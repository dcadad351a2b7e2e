-- An index that a migration creates IF NOT EXISTS is built before its transaction, without blocking
-- writers.
CREATE UNIQUE INDEX IF NOT EXISTS integrations_of_organization
ON integrations (organization_id, id);
