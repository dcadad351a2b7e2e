-- select_owner: Select the organization and the id of the key with this digest.
SELECT organization_id, key_id FROM api_key_owners WHERE digest = :digest

-- find_key_of_organization: Select a key, and the state of the catalog of its organization.
SELECT {found_key_columns}
FROM api_keys JOIN organizations ON organizations.id = organization_id
WHERE api_keys.id = :id AND organization_id = :organization_id
    AND organizations.id = :organization_id

-- insert_owner: Insert the digest and the organization of a key.
INSERT INTO api_key_owners (digest, key_id, organization_id)
VALUES (:digest, :key_id, :organization_id)

-- insert_all_owners: Insert the digests and the organizations of all API keys.
INSERT INTO api_key_owners (digest, key_id, organization_id)
SELECT digest, id, organization_id FROM api_keys
