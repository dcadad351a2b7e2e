CREATE INDEX IF NOT EXISTS recipient_fields_by_esp_name
ON recipient_fields (esp_name_letters, organization_id, integration_id)
WHERE integration_id IS NOT NULL;
