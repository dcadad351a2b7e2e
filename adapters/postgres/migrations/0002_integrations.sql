CREATE TABLE integrations (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    organization_id bigint NOT NULL,
    esp text NOT NULL,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    last_synced_at timestamptz(3),
    CONSTRAINT integrations_pk PRIMARY KEY (id),
    CONSTRAINT integrations_organization
        FOREIGN KEY (organization_id) REFERENCES organizations (id)
);

CREATE INDEX integrations_by_organization ON integrations (organization_id);

-- Ids that fields had before this table existed are not assigned again.
SELECT setval(pg_get_serial_sequence('integrations', 'id'), max(integration_id))
FROM recipient_fields WHERE integration_id BETWEEN 1 AND 9007199254740990
HAVING max(integration_id) IS NOT NULL;
