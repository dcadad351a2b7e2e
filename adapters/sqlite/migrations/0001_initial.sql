CREATE TABLE organizations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE recipient_fields (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    data_type TEXT NOT NULL
        CHECK (data_type IN ('text', 'number', 'boolean', 'date', 'datetime')),
    allowed_values TEXT,
    insertable INTEGER NOT NULL CHECK (insertable IN (0, 1)),
    source TEXT NOT NULL CHECK (source IN ('api', 'manual', 'integration')),
    integration_id INTEGER,
    esp_field_name TEXT,
    custom_insertion_code TEXT,
    custom_value_expression TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL CHECK (updated_at >= created_at),
    version INTEGER NOT NULL CHECK (version >= 1),
    UNIQUE (organization_id, key),
    CHECK ((source = 'integration') = (integration_id IS NOT NULL)),
    CHECK ((source = 'integration') = (esp_field_name IS NOT NULL))
) STRICT;

CREATE INDEX recipient_fields_by_source ON recipient_fields (organization_id, source);

CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    access TEXT NOT NULL CHECK (access IN ('read_write', 'read_only')),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    display TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE INDEX api_keys_by_organization ON api_keys (organization_id);
