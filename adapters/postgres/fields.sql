-- select_published: Select the revision of a catalog, the number of its fields, and their documents.
SELECT revision, count(field.id),
    coalesce('[' || string_agg(row_to_json(field)::text, ',' ORDER BY field.id) || ']', '[]')
FROM organizations LEFT JOIN (
    SELECT {document_columns()} FROM recipient_fields WHERE organization_id = :organization_id
) AS field ON true
WHERE organizations.id = :organization_id GROUP BY organizations.id

-- create_field: Insert and record a new field, and return its id. Without a row, nothing is stored.
-- The statement locks the catalog itself. After a wait for the lock, PostgreSQL evaluates the
-- conditions on the newest row of the organization, but sees the other tables as before. So the
-- statement does not count the fields, and a constraint rejects a key that was taken meanwhile.
WITH holder AS (
    SELECT id FROM recipient_fields WHERE organization_id = :organization_id AND key = :key
), locked AS (
    SELECT id FROM organizations
    WHERE id = :organization_id AND NOT EXISTS (SELECT FROM holder)
        AND counted_revision = revision AND measured_revision = revision
        AND (:read_revision::bigint IS NULL OR revision = :read_revision::bigint)
        AND (:limit::bigint IS NULL
            OR :limit::bigint > CASE WHEN :source = 'api' THEN api_field_count END)
        AND (:max_fields_size::bigint IS NULL OR fields_size <= :max_fields_size::bigint)
    FOR NO KEY UPDATE
), added AS (
    INSERT INTO recipient_fields (organization_id, {field_row()})
    SELECT {typed(organization_id, {field_row()})} FROM locked
    RETURNING id
), catalog AS (
    UPDATE organizations SET
        revision = greatest(revision + 1, :now), counted_revision = greatest(revision + 1, :now),
        measured_revision = greatest(revision + 1, :now),
        api_field_count = api_field_count + :added_api_fields,
        fields_size = fields_size + :added_size + length(added.id::text),
        record_bytes = record_bytes + CASE WHEN sized_sequence = last_sequence THEN :bytes ELSE 0 END,
        sized_sequence = sized_sequence + (sized_sequence = last_sequence)::int,
        last_sequence = last_sequence + 1,
        last_change_at = greatest({typed(created_at)}, last_change_at + interval '1 millisecond')
    FROM added WHERE organizations.id = :organization_id
    RETURNING last_sequence, last_change_at
), recorded AS (
    INSERT INTO recipient_field_changes (
        organization_id, operation, key, source, author, after, bytes, field_id, sequence,
        occurred_at
    )
    SELECT
        {typed(organization_id, operation, key, source, author, after, bytes)}, added.id,
        last_sequence, last_change_at
    FROM catalog, added
)
SELECT id FROM added

-- find_by_id: Select the counters of a catalog, and the field with this id.
SELECT {counter_columns}, field.*
FROM organizations LEFT JOIN ({select_field_by_id}) AS field ON true
WHERE organizations.id = :organization_id

-- find_by_key: Select the counters of a catalog, and the field with this key.
SELECT {counter_columns}, field.*
FROM organizations LEFT JOIN ({select_field_by_key}) AS field ON true
WHERE organizations.id = :organization_id

-- catalog_as_read: Store the counters of a catalog, if it still has the revision that was read.
catalog AS ({store_counters} AND revision = :read_revision RETURNING id)

-- recorded: Insert the record of the change of a field, if the counters were stored.
recorded AS (
    INSERT INTO recipient_field_changes ({record_row}) SELECT {typed({record_row})} FROM catalog
)

-- update_field: Update and record a field, if its catalog still has the revision that was read.
WITH {catalog_as_read}, stored AS (
    {update_fields} AND EXISTS (SELECT FROM catalog)
), {recorded}
SELECT id FROM catalog

-- delete_field: Delete and record a field, if its catalog still has the revision that was read.
WITH {catalog_as_read}, stored AS (
    {delete_fields} AND EXISTS (SELECT FROM catalog)
), {recorded}
SELECT id FROM catalog
