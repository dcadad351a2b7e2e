CREATE TABLE organizations (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    name text NOT NULL,
    revision bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    CONSTRAINT organizations_pk PRIMARY KEY (id)
);

CREATE TABLE recipient_fields (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    organization_id bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    folded_name text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    data_type text NOT NULL,
    allowed_values json,
    insertable boolean NOT NULL,
    source text NOT NULL,
    integration_id bigint,
    esp_field_name text,
    folded_esp_field_name text COLLATE "C",
    custom_insertion_code text,
    custom_value_expression text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT recipient_fields_pk PRIMARY KEY (organization_id, id),
    CONSTRAINT recipient_fields_key_once UNIQUE (organization_id, key),
    CONSTRAINT recipient_fields_organization
        FOREIGN KEY (organization_id) REFERENCES organizations (id),
    CONSTRAINT recipient_fields_data_type
        CHECK (data_type IN ('text', 'number', 'boolean', 'date', 'datetime')),
    CONSTRAINT recipient_fields_allowed_values
        CHECK (allowed_values IS NULL
            OR (data_type <> 'boolean' AND json_typeof(allowed_values) = 'array')),
    CONSTRAINT recipient_fields_source
        CHECK (source IN ('api', 'manual', 'integration')),
    CONSTRAINT recipient_fields_integration_id
        CHECK ((source = 'integration') = (integration_id IS NOT NULL)),
    CONSTRAINT recipient_fields_esp_field_name
        CHECK ((source = 'integration') = (esp_field_name IS NOT NULL)),
    CONSTRAINT recipient_fields_times CHECK (updated_at >= created_at),
    CONSTRAINT recipient_fields_version CHECK (version >= 1)
);

CREATE TABLE api_keys (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    organization_id bigint NOT NULL,
    name text NOT NULL,
    access text NOT NULL,
    digest bytea NOT NULL,
    display text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3),
    last_used_at timestamptz(3),
    revoked_at timestamptz(3),
    CONSTRAINT api_keys_pk PRIMARY KEY (id),
    CONSTRAINT api_keys_digest_once UNIQUE (digest),
    CONSTRAINT api_keys_organization
        FOREIGN KEY (organization_id) REFERENCES organizations (id),
    CONSTRAINT api_keys_access CHECK (access IN ('read_write', 'read_only')),
    CONSTRAINT api_keys_digest CHECK (octet_length(digest) = 32)
);

CREATE INDEX api_keys_by_organization ON api_keys (organization_id);
