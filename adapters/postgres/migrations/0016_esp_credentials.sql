CREATE TABLE esp_credentials (
    organization_id bigint NOT NULL,
    integration_id bigint NOT NULL,
    credential text NOT NULL,
    CONSTRAINT esp_credentials_pk PRIMARY KEY (organization_id, integration_id)
);

-- As for `recipient_field_values`.
DO $$ BEGIN IF to_regclass('api_key_owners') IS NULL THEN
    ALTER TABLE esp_credentials ADD CONSTRAINT esp_credentials_organization
    FOREIGN KEY (organization_id) REFERENCES organizations (id) ON DELETE CASCADE; END IF; END $$;
