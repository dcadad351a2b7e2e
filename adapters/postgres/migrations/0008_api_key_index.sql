CREATE UNIQUE INDEX IF NOT EXISTS api_keys_of_organization ON api_keys (organization_id, id);
