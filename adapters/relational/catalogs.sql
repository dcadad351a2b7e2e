-- counter_columns: The counters of a catalog, which `Counters` has. NULL: not known.
revision, last_sequence, {milliseconds(last_change_at)},
CASE WHEN counted_revision = revision THEN api_field_count END,
CASE WHEN measured_revision = revision THEN fields_size END,
record_bytes, shared_value_bytes, inherited_bytes, sized_sequence

-- lock_catalog: Lock the catalog of an organization, and return its counters.
SELECT {counter_columns} FROM organizations WHERE id = :organization_id {lock(NO KEY UPDATE)}

-- select_counters: Select the counters of a catalog.
SELECT {counter_columns} FROM organizations WHERE id = :organization_id

-- store_counters: Store the counters of a catalog that the transaction has locked.
UPDATE organizations SET
    revision = :revision, last_sequence = :last_sequence, last_change_at = {instant(last_change_at)},
    api_field_count = :api_field_count, counted_revision = :revision,
    fields_size = :fields_size, measured_revision = :revision,
    record_bytes = :record_bytes, shared_value_bytes = :shared_value_bytes,
    inherited_bytes = :inherited_bytes, sized_sequence = :sized_sequence
WHERE id = :organization_id

-- count_fields_of_source: Count the fields of an organization with this source.
SELECT count(*) FROM recipient_fields WHERE organization_id = :organization_id AND source = :source

-- select_next_id: Select the id of the next field.
SELECT {next_field_id()}

-- select_unmeasured: Select the organizations whose catalogs have no size, and their revisions.
SELECT id, revision FROM organizations WHERE fields_size IS NULL ORDER BY id

-- select_next_fields: Select the next fields of an organization by ascending id.
{select_fields} AND id > :after_id ORDER BY id LIMIT :limit

-- store_size: Store the size of the fields of a catalog that still has this revision.
UPDATE organizations SET fields_size = :size, measured_revision = :revision
WHERE id = :organization_id AND revision = :revision

-- select_without_letters: Select synced fields without the letters of their names.
SELECT organization_id, id, esp_field_name FROM recipient_fields
WHERE integration_id IS NOT NULL AND esp_name_letters IS NULL
ORDER BY organization_id LIMIT :limit

-- store_letters: Store the letters of the names of synced fields.
UPDATE recipient_fields AS field SET esp_name_letters = change.esp_name_letters
FROM {rows(id, esp_name_letters)}
WHERE organization_id = :organization_id AND field.id = change.id

-- delete_fields: Delete fields.
DELETE FROM recipient_fields WHERE organization_id = :organization_id AND {matching(id)}

-- insert_fields: Insert new fields, and return their ids and keys.
INSERT INTO recipient_fields (organization_id, {field_row()})
{values(organization_id, {field_row()})}
RETURNING id, key

-- restore_fields: Insert deleted fields again, with their ids.
INSERT INTO recipient_fields (organization_id, id, {field_row()}) {overriding()}
{values(organization_id, id, {field_row()})}

-- record_row: The columns of a record that a statement inserts.
organization_id, sequence, occurred_at, operation, field_id, key, source, author, before, after,
bytes

-- insert_records: Insert the records of changes.
INSERT INTO recipient_field_changes ({record_row}) {values({record_row})}

-- select_known_values: Select those of the digests whose shared values are stored.
SELECT digest FROM recipient_field_values
WHERE organization_id = :organization_id AND {any(digest, :digests)}

-- keep_values: Store that a new record uses these shared values, which are stored.
UPDATE recipient_field_values SET last_sequence = :last_sequence
WHERE organization_id = :organization_id AND {any(digest, :digests)}

-- insert_values: Insert shared values that a new record uses.
INSERT INTO recipient_field_values (organization_id, digest, value, last_sequence)
{values(organization_id, digest, value, last_sequence)}

-- update_fields: Store the columns of fields that a change has changed: `columns` stands for them.
UPDATE recipient_fields AS field SET {assignments(columns)}
FROM {rows(id, columns)}
WHERE organization_id = :organization_id AND field.id = change.id
