CREATE TABLE esp_connections (
    organization_id INTEGER NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    integration_id INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (organization_id, integration_id)
) STRICT;
