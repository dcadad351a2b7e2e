-- The letters and digits of `esp_field_name`, by which the fields with similar names are found. They
-- are NULL for fields that are not synced, and in rows that older versions store.
ALTER TABLE recipient_fields ADD COLUMN esp_name_letters text COLLATE "C";
