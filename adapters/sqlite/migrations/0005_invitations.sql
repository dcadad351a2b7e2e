CREATE TABLE administrator_invitations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    email TEXT NOT NULL,
    folded_email TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    UNIQUE (organization_id, folded_email)
) STRICT;
