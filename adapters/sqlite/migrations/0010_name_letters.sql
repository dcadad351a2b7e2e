-- The letters and digits of `esp_field_name`, by which the fields with similar names are found. They
-- are NULL for fields that are not synced, and in rows that older versions store.
ALTER TABLE recipient_fields ADD COLUMN esp_name_letters TEXT;

CREATE INDEX recipient_fields_by_esp_name
ON recipient_fields (esp_name_letters, organization_id, integration_id)
WHERE integration_id IS NOT NULL;
