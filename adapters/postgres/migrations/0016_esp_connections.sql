CREATE TABLE esp_connections (
    organization_id bigint NOT NULL,
    integration_id bigint NOT NULL,
    document text NOT NULL,
    CONSTRAINT esp_connections_pk PRIMARY KEY (organization_id, integration_id)
);

-- As for `recipient_field_values`.
DO $$ BEGIN IF to_regclass('api_key_owners') IS NULL THEN
    ALTER TABLE esp_connections ADD CONSTRAINT esp_connections_organization
    FOREIGN KEY (organization_id) REFERENCES organizations (id) ON DELETE CASCADE; END IF; END $$;
