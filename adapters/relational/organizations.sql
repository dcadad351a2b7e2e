-- organization_columns: The columns of an organization, which `read_organization` expects.
id, name, {milliseconds(created_at)}

-- organization_record_columns: The columns of an organization and the state of its catalog.
{organization_columns}, revision, last_sequence, {milliseconds(last_change_at)}

-- select_organizations: Select all organizations by ascending id.
SELECT {organization_columns} FROM organizations ORDER BY id

-- select_organization: Select the organization with this id.
SELECT {organization_columns} FROM organizations WHERE id = :organization_id

-- insert_organization: Insert an organization with an empty catalog, and return its row.
INSERT INTO organizations (
    name, revision, created_at, api_field_count, counted_revision, fields_size, measured_revision
)
VALUES (:name, :revision, :created_at, 0, :revision, 0, :revision)
RETURNING {organization_columns}

-- rename_organization: Store the new name of an organization, and return its row.
UPDATE organizations SET name = :name WHERE id = :organization_id RETURNING {organization_columns}

-- delete_organization: Delete an organization, which has no other rows any more.
DELETE FROM organizations WHERE id = :organization_id

-- keep_organization: Keep an organization from deletion, and return its id.
SELECT id FROM organizations WHERE id = :organization_id {lock(KEY SHARE)}

-- lock_organization: Lock an organization for its deletion, and return its id.
SELECT id FROM organizations WHERE id = :organization_id {lock(UPDATE)}

-- lock_accounts: Lock the accounts of an organization's administrators, and return their ids.
SELECT id FROM administrators WHERE id IN (
    SELECT administrator_id FROM administrator_memberships
    WHERE organization_id = :organization_id
) ORDER BY id {lock(UPDATE)}

-- delete_accounts_without_membership: Delete those of these accounts that have no membership.
DELETE FROM administrators WHERE {any(id, :ids)} AND NOT EXISTS (
    SELECT 1 FROM administrator_memberships WHERE administrator_id = administrators.id
)
