-- Distributed tables need the organization in every key. This key also replaces the index of
-- organizations.
ALTER TABLE integrations
DROP CONSTRAINT integrations_pk,
ADD CONSTRAINT integrations_pk PRIMARY KEY USING INDEX integrations_of_organization;

DROP INDEX integrations_by_organization;
