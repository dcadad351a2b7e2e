ALTER TABLE api_keys
DROP CONSTRAINT api_keys_pk,
ADD CONSTRAINT api_keys_pk PRIMARY KEY USING INDEX api_keys_of_organization;

DROP INDEX api_keys_by_organization;
