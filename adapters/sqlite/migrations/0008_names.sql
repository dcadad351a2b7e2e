-- The names that the last sync refused, and those that were set for fields, by their ids. The names of
-- a deleted field are kept, so that it has them again after its restoration.
ALTER TABLE integrations ADD COLUMN refused_names TEXT NOT NULL DEFAULT '[]';
ALTER TABLE integrations ADD COLUMN names TEXT NOT NULL DEFAULT '{}';
