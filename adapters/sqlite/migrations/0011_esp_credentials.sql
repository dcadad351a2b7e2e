CREATE TABLE esp_credentials (
    organization_id INTEGER NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    integration_id INTEGER NOT NULL,
    credential TEXT NOT NULL,
    PRIMARY KEY (organization_id, integration_id)
) STRICT;
