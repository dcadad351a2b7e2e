-- The names that the last sync refused, and those that were set for fields, by their ids. The names of
-- a deleted field are kept, so that it has them again after its restoration.
ALTER TABLE integrations
ADD COLUMN refused_names json NOT NULL DEFAULT '[]',
ADD COLUMN names json NOT NULL DEFAULT '{}';
