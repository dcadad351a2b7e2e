-- field_columns: The columns of a field, which `read_field` expects.
{field_columns()}

-- select_fields: Select the fields of an organization.
SELECT {field_columns()} FROM recipient_fields WHERE organization_id = :organization_id

-- select_field_by_id: Select the field of an organization with this id.
{select_fields} AND id = :id

-- select_field_by_key: Select the field of an organization with this key.
{select_fields} AND key = :key

-- select_catalog: Select the revision of a catalog, and its fields. Without fields, it is one row.
SELECT revision, field.*
FROM organizations LEFT JOIN ({select_fields}) AS field ON true
WHERE organizations.id = :organization_id ORDER BY field.id
