-- record_columns: The columns of a record, which `read_record` expects.
organization_id, sequence, operation, field_id, {json(author)}, {json(before)}, {json(after)},
{milliseconds(occurred_at)}

-- removed_records: The number of removed records, for a row of `organizations`.
coalesce(
    (
        SELECT min(sequence) - 1 FROM recipient_field_changes
        WHERE organization_id = :organization_id
    ), last_sequence
)

-- select_removed: Select the number of removed records: all before the first one that is left.
SELECT {removed_records} FROM organizations WHERE id = :organization_id

-- select_last_deletion: Select the record of the last deletion of a field.
SELECT {record_columns} FROM recipient_field_changes
WHERE organization_id = :organization_id AND field_id = :id AND operation = 'deleted'
ORDER BY sequence DESC LIMIT 1

-- select_values: Select the shared values with these digests.
SELECT digest, value FROM recipient_field_values
WHERE organization_id = :organization_id AND {any(digest, :digests)}

-- select_values_of_several: Select the shared values with these digests, of some organizations.
SELECT digest, value FROM recipient_field_values
WHERE {any(organization_id, :organization_ids)} AND {any(digest, :digests)}

-- keep_value: Store the last record that uses a shared value.
UPDATE recipient_field_values SET last_sequence = :last_sequence
WHERE organization_id = :organization_id AND digest = :digest

-- store_value_bytes: Store the sizes of the shared values of all histories.
UPDATE organizations SET shared_value_bytes = (
    SELECT coalesce(sum({text_bytes(value)}), 0) FROM recipient_field_values
    WHERE organization_id = organizations.id
)

-- record_bytes: The size of a record, or that of its documents: earlier versions do not store it.
coalesce(
    bytes,
    coalesce({stored_bytes(author)}, 0) + coalesce({stored_bytes(before)}, 0)
        + coalesce({stored_bytes(after)}, 0)
)

-- count_bytes: Count the bytes of the records after one sequence, up to another one.
SELECT CAST(coalesce(sum({record_bytes}), 0) AS bigint) FROM recipient_field_changes
WHERE organization_id = :organization_id AND sequence > :after AND sequence <= :last

-- select_oldest: Select the oldest records with their sizes, and those of values only they use.
SELECT sequence, {milliseconds(occurred_at)}, {record_bytes}, (
    SELECT coalesce(sum({text_bytes(value)}), 0) FROM recipient_field_values
    WHERE organization_id = :organization_id AND last_sequence = sequence
)
FROM recipient_field_changes
WHERE organization_id = :organization_id ORDER BY sequence LIMIT :row_limit

-- select_unused_bytes: Select the size of the shared values that no record after this one uses.
SELECT coalesce(sum({text_bytes(value)}), 0) FROM recipient_field_values
WHERE organization_id = :organization_id AND last_sequence <= :last

-- delete_records: Delete the records up to this one.
DELETE FROM recipient_field_changes WHERE organization_id = :organization_id AND sequence <= :last

-- delete_unused_values: Delete the shared values that no record after this one uses.
DELETE FROM recipient_field_values
WHERE organization_id = :organization_id AND last_sequence <= :last

-- select_last_until: Select the sequence and the time of the last record until a time, or NULL.
SELECT record.sequence, record.occurred_at
FROM organizations LEFT JOIN (
    SELECT sequence, {milliseconds(occurred_at)} FROM recipient_field_changes AS change
    WHERE organization_id = :organization_id AND occurred_at <= :at
    ORDER BY change.occurred_at DESC, sequence DESC LIMIT 1
) AS record ON true
WHERE organizations.id = :organization_id

-- is_unchanged: The condition that no record after `last` has changed a field.
NOT EXISTS (
    SELECT 1 FROM recipient_field_changes
    WHERE organization_id = :organization_id AND field_id = field.id AND sequence > :last
)

-- select_unchanged: Select the fields that no record after `last` has changed.
SELECT {field_columns()} FROM recipient_fields AS field
WHERE organization_id = :organization_id AND {is_unchanged}

-- select_unchanged_small: Select the same fields without their large members.
SELECT {small_field_columns()} FROM recipient_fields AS field
WHERE organization_id = :organization_id AND {is_unchanged}

-- select_unchanged_of: Select those of the same fields that have these ids.
{select_unchanged} AND {any(field.id, :ids)}

-- first_changes: The sequences of the first records of fields after `last`.
SELECT min(sequence) FROM recipient_field_changes
WHERE organization_id = :organization_id AND sequence > :last

-- select_changed: Select the other fields, as documents before the first record after `last`.
SELECT field_id, {json(before)} FROM recipient_field_changes
WHERE organization_id = :organization_id AND before IS NOT NULL
    AND sequence IN ({first_changes} GROUP BY field_id)

-- select_changed_small: Select the same documents without their large members.
SELECT field_id, {small(before)} FROM recipient_field_changes
WHERE organization_id = :organization_id AND before IS NOT NULL
    AND sequence IN ({first_changes} GROUP BY field_id)

-- select_changed_of: Select those of the same documents whose fields have these ids.
SELECT field_id, {json(before)} FROM recipient_field_changes
WHERE organization_id = :organization_id AND before IS NOT NULL
    AND sequence IN ({first_changes} AND {any(field_id, :ids)} GROUP BY field_id)
