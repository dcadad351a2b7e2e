-- integration_columns: The columns of an integration, which `read_integration` expects.
id, organization_id, esp, name, {milliseconds(created_at)}, {milliseconds(last_synced_at)},
{json(refused_names)}, {json(names)}

-- select_integrations: Select the revision of a catalog, and integrations: all, or some.
SELECT revision, integration.*
FROM organizations LEFT JOIN (
    SELECT {integration_columns} FROM integrations
    WHERE organization_id = :organization_id
        AND (:every OR {any(id, :integration_ids)} OR {any(esp, :esps)})
) AS integration ON true
WHERE organizations.id = :organization_id ORDER BY integration.id

-- select_fields_by_ids: Select the fields with these ids.
SELECT {field_columns()} FROM recipient_fields {by_id()}
WHERE organization_id = :organization_id AND {any(id, :field_ids)}

-- select_named_fields: Select the fields with these ids or keys.
{select_fields_by_ids} UNION ALL {select_fields} AND {any(key, :keys)}

-- select_related_fields: Select the revision of a catalog, and fields on which names depend.
-- Rows of an earlier version have no letters.
SELECT revision, field.*
FROM organizations LEFT JOIN (
    {select_fields_by_ids}
    UNION ALL
    {select_fields} AND integration_id IS NOT NULL AND {any(integration_id, :integration_ids)}
        AND {any(esp_name_letters, :letters)}
    UNION ALL
    {select_fields} AND integration_id IS NOT NULL AND {any(integration_id, :integration_ids)}
        AND esp_name_letters IS NULL
) AS field ON true
WHERE organizations.id = :organization_id

-- select_integration: Select an integration of an organization.
SELECT {integration_columns} FROM integrations WHERE organization_id = :organization_id AND id = :id

-- count_fields: Select the ids of an organization's integrations, with the numbers of their fields.
SELECT field.integration_id, field.count
FROM organizations LEFT JOIN (
    SELECT integration_id, count(*) AS count FROM recipient_fields
    WHERE organization_id = :organization_id AND integration_id IS NOT NULL
    GROUP BY integration_id
) AS field ON true
WHERE organizations.id = :organization_id

-- insert_integration: Insert an integration, and return its id.
INSERT INTO integrations (organization_id, esp, name, created_at)
VALUES (:organization_id, :esp, :name, :created_at)
RETURNING id

-- update_last_sync: Store the time of the last sync of an integration, and the names it refused.
UPDATE integrations SET last_synced_at = :last_synced_at, refused_names = :refused_names
WHERE organization_id = :organization_id AND id = :id

-- update_integration: Store the name of an integration, and the names of fields at it.
UPDATE integrations SET name = :name, names = :names
WHERE organization_id = :organization_id AND id = :id

-- delete_integration: Delete an integration.
DELETE FROM integrations WHERE organization_id = :organization_id AND id = :id

-- connection_columns: The columns of a connection, which `read_connection` expects.
organization_id, integration_id, document

-- select_connections: Select the connections of all integrations.
SELECT {connection_columns} FROM esp_connections ORDER BY organization_id, integration_id

-- select_connection: Select the connection of an integration.
SELECT {connection_columns} FROM esp_connections
WHERE organization_id = :organization_id AND integration_id = :id

-- put_connection: Store the connection of an integration in place of an earlier one.
INSERT INTO esp_connections (organization_id, integration_id, document)
VALUES (:organization_id, :integration_id, :document)
ON CONFLICT (organization_id, integration_id) DO UPDATE SET document = excluded.document

-- delete_connection: Delete the connection of an integration.
DELETE FROM esp_connections WHERE organization_id = :organization_id AND integration_id = :id
