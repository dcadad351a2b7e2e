CREATE TABLE integrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    esp TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_synced_at INTEGER
) STRICT;

CREATE INDEX integrations_by_organization ON integrations (organization_id);

-- Ids that fields had before this table existed are not assigned again.
INSERT INTO sqlite_sequence (name, seq)
SELECT 'integrations', max(integration_id)
FROM recipient_fields WHERE integration_id BETWEEN 1 AND 9007199254740990
HAVING max(integration_id) IS NOT NULL;
