-- key_columns: The columns of a key, which `read_api_key` expects.
id, organization_id, name, access, digest, display, created_by, {milliseconds(created_at)},
{milliseconds(expires_at)}, {milliseconds(last_used_at)}, {milliseconds(revoked_at)}

-- found_key_columns: The columns of the look-up of a key.
api_keys.id, organization_id, access, revision, {milliseconds(expires_at)},
{milliseconds(revoked_at)}, {milliseconds(last_used_at)}, fields_size

-- select_keys: Select the keys of an organization by ascending id. Without keys, it is one row.
SELECT api_key.*
FROM organizations LEFT JOIN (
    SELECT {key_columns} FROM api_keys WHERE organization_id = :organization_id
) AS api_key ON true
WHERE organizations.id = :organization_id ORDER BY api_key.id

-- select_key: Select a key of an organization.
SELECT {key_columns} FROM api_keys WHERE id = :id AND organization_id = :organization_id

-- select_key_for_change: Select a key of an organization, and lock it.
{select_key} {lock(NO KEY UPDATE)}

-- find_key: Select the key with this digest, and the state of its organization's catalog.
SELECT {found_key_columns}
FROM api_keys JOIN organizations ON organizations.id = organization_id
WHERE digest = :digest

-- insert_key: Insert a key if its organization exists, and return its id.
INSERT INTO api_keys (
    organization_id, name, access, digest, display, created_by, created_at, expires_at
)
SELECT id, :name, :access, :digest, :display, :created_by, :created_at, :expires_at
FROM organizations WHERE id = :organization_id
RETURNING id

-- update_key: Store the expiry and the revocation of a key.
UPDATE api_keys SET expires_at = :expires_at, revoked_at = :revoked_at
WHERE id = :id AND organization_id = :organization_id

-- record_key_use: Store the time of the last use of a key, unless a later one is stored.
UPDATE api_keys SET last_used_at = :at
WHERE id = :id AND organization_id = :organization_id
    AND (last_used_at IS NULL OR last_used_at < :at)
