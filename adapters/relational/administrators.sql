-- administrator_columns: The columns of an account, which `read_administrator` expects.
administrators.id, email, password_hash, (
    SELECT {joined(organization_id || ':' || role)} FROM administrator_memberships
    WHERE administrator_id = administrators.id
), {milliseconds(administrators.created_at)}

-- select_members: Select the administrators of an organization by ascending email address.
SELECT {administrator_columns} FROM administrators WHERE id IN (
    SELECT administrator_id FROM administrator_memberships
    WHERE organization_id = :organization_id
) ORDER BY folded_email

-- select_member: Select an administrator of an organization.
SELECT {administrator_columns} FROM administrators WHERE id IN (
    SELECT administrator_id FROM administrator_memberships
    WHERE organization_id = :organization_id AND administrator_id = :administrator_id
)

-- select_member_by_email: Select the id of the organization's administrator with this address.
SELECT id FROM administrators WHERE folded_email = :folded_email AND id IN (
    SELECT administrator_id FROM administrator_memberships
    WHERE organization_id = :organization_id
)

-- select_account: Select the administrator with this id, in any organization.
SELECT {administrator_columns} FROM administrators WHERE id = :administrator_id

-- select_account_by_email: Select the administrator with this address, in any organization.
SELECT {administrator_columns} FROM administrators WHERE folded_email = :folded_email

-- lock_account: Lock an account. No session of it begins until the transaction ends.
SELECT id FROM administrators WHERE id = :administrator_id {lock(UPDATE)}

-- lock_account_by_email: Lock the account with this address, and return its id and password hash.
SELECT id, password_hash FROM administrators WHERE folded_email = :folded_email {lock(UPDATE)}

-- insert_account: Insert an account unless the address has one, and return its id and hash.
INSERT INTO administrators (email, folded_email, password_hash, created_at)
VALUES (:email, :folded_email, :password_hash, :at)
ON CONFLICT (folded_email) DO NOTHING
RETURNING id, password_hash

-- insert_membership: Insert the membership of an account in an organization, unless there is one.
INSERT INTO administrator_memberships (organization_id, administrator_id, role)
VALUES (:organization_id, :administrator_id, :role)
ON CONFLICT (organization_id, administrator_id) DO NOTHING

-- update_role: Change the role of an account in an organization.
UPDATE administrator_memberships SET role = :role
WHERE organization_id = :organization_id AND administrator_id = :administrator_id

-- delete_membership: Delete the membership of an account in an organization.
DELETE FROM administrator_memberships
WHERE organization_id = :organization_id AND administrator_id = :administrator_id

-- replace_password_hash: Replace the password hash of an account, if it is the old one.
UPDATE administrators SET password_hash = :new WHERE id = :administrator_id AND password_hash = :old

-- set_password_hash: Store the password hash of an account.
UPDATE administrators SET password_hash = :new WHERE id = :administrator_id

-- invitation_columns: The columns of an invitation.
id, organization_id, email, role, digest, {milliseconds(created_at)}, {milliseconds(expires_at)}

-- select_invitations: Select the invitations of an organization by ascending email address.
SELECT {invitation_columns} FROM administrator_invitations
WHERE organization_id = :organization_id ORDER BY folded_email

-- select_invitation: Select the invitation with this digest, unless it has expired.
SELECT {invitation_columns} FROM administrator_invitations
WHERE digest = :digest AND expires_at > :at

-- store_invitation: Store an invitation, instead of an earlier one for the address.
INSERT INTO administrator_invitations (
    organization_id, email, folded_email, role, digest, created_at, expires_at
)
VALUES (:organization_id, :email, :folded_email, :role, :digest, :created_at, :expires_at)
ON CONFLICT (organization_id, folded_email) DO UPDATE SET
    email = excluded.email, role = excluded.role, digest = excluded.digest,
    created_at = excluded.created_at, expires_at = excluded.expires_at
RETURNING {invitation_columns}

-- withdraw_invitation: Delete an invitation of an organization, and return its row.
DELETE FROM administrator_invitations
WHERE organization_id = :organization_id AND id = :invitation_id
RETURNING {invitation_columns}

-- delete_invitation: Delete an invitation.
DELETE FROM administrator_invitations WHERE id = :invitation_id

-- select_link: Select the link with this digest, unless it has expired, and its administrator.
SELECT purpose, {milliseconds(expires_at)}, {administrator_columns}
FROM administrator_links JOIN administrators ON administrators.id = administrator_id
WHERE digest = :digest AND expires_at > :at

-- replace_link: Store the link of an account, instead of an earlier one with the same purpose.
INSERT INTO administrator_links (administrator_id, purpose, digest, expires_at)
VALUES (:administrator_id, :purpose, :digest, :expires_at)
ON CONFLICT (administrator_id, purpose)
DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at

-- delete_links: Delete the links of an account.
DELETE FROM administrator_links WHERE administrator_id = :administrator_id

-- delete_link: Delete the link with this digest, if it has this purpose.
DELETE FROM administrator_links WHERE digest = :digest AND purpose = :purpose
