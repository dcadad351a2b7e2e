-- Instants are whole milliseconds since 1970, allowed values JSON. A sequence never decreases, so
-- no id is assigned twice. There are no foreign keys: DuckDB would index their columns.
CREATE SEQUENCE IF NOT EXISTS organization_ids;
CREATE SEQUENCE IF NOT EXISTS field_ids;
CREATE SEQUENCE IF NOT EXISTS integration_ids;
CREATE SEQUENCE IF NOT EXISTS api_key_ids;
CREATE SEQUENCE IF NOT EXISTS administrator_ids;
CREATE SEQUENCE IF NOT EXISTS invitation_ids;
CREATE SEQUENCE IF NOT EXISTS session_ids;

CREATE TABLE IF NOT EXISTS organizations (
    id BIGINT PRIMARY KEY,
    name VARCHAR NOT NULL,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    fields_size BIGINT NOT NULL DEFAULT 0,
    last_sequence BIGINT NOT NULL DEFAULT 0,
    last_change_at BIGINT
);

CREATE TABLE IF NOT EXISTS recipient_fields (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    data_type VARCHAR NOT NULL,
    insertable BOOLEAN NOT NULL,
    source VARCHAR NOT NULL,
    integration_id BIGINT,
    esp_field_name VARCHAR,
    custom_insertion_code VARCHAR,
    custom_value_expression VARCHAR,
    version BIGINT NOT NULL,
    allowed_values VARCHAR,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, key)
);

CREATE TABLE IF NOT EXISTS recipient_field_changes (
    organization_id BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    operation VARCHAR NOT NULL,
    field_id BIGINT NOT NULL,
    key VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    before VARCHAR,
    after VARCHAR,
    occurred_at BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS integrations (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL,
    esp VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    created_at BIGINT NOT NULL,
    last_synced_at BIGINT,
    refused_names VARCHAR NOT NULL DEFAULT '[]',
    names VARCHAR NOT NULL DEFAULT '{}'
);

CREATE TABLE IF NOT EXISTS api_keys (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    access VARCHAR NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    display VARCHAR NOT NULL,
    created_by VARCHAR,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT
);

CREATE TABLE IF NOT EXISTS administrators (
    id BIGINT PRIMARY KEY,
    email VARCHAR NOT NULL,
    folded_email VARCHAR NOT NULL,
    password_hash VARCHAR,
    created_at BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS administrator_memberships (
    organization_id BIGINT NOT NULL,
    administrator_id BIGINT NOT NULL,
    role VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS administrator_invitations (
    id BIGINT NOT NULL,
    organization_id BIGINT NOT NULL,
    email VARCHAR NOT NULL,
    folded_email VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    digest BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS esp_connections (
    organization_id BIGINT NOT NULL,
    integration_id BIGINT NOT NULL,
    document VARCHAR NOT NULL
);

CREATE TABLE IF NOT EXISTS administrator_links (
    administrator_id BIGINT NOT NULL,
    purpose VARCHAR NOT NULL,
    digest BLOB NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS administrator_sessions (
    id BIGINT PRIMARY KEY,
    administrator_id BIGINT NOT NULL,
    digest BLOB NOT NULL,
    user_agent VARCHAR NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS administrator_forms (
    session_id BIGINT NOT NULL,
    digest BLOB NOT NULL
);

CREATE TABLE IF NOT EXISTS sign_in_attempts (
    subject BLOB NOT NULL,
    ends_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL
);
