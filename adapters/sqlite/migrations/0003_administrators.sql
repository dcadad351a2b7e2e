CREATE TABLE administrators (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    email TEXT NOT NULL,
    folded_email TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE administrator_memberships (
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    administrator_id INTEGER NOT NULL REFERENCES administrators (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    PRIMARY KEY (organization_id, administrator_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX administrator_memberships_by_administrator
ON administrator_memberships (administrator_id);

CREATE TABLE administrator_links (
    administrator_id INTEGER NOT NULL REFERENCES administrators (id) ON DELETE CASCADE,
    purpose TEXT NOT NULL CHECK (purpose IN ('set_password', 'sign_in')),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (administrator_id, purpose)
) STRICT;

CREATE TABLE administrator_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    administrator_id INTEGER NOT NULL REFERENCES administrators (id) ON DELETE CASCADE,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    user_agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
) STRICT;

CREATE INDEX administrator_sessions_by_administrator
ON administrator_sessions (administrator_id);

CREATE TABLE administrator_forms (
    session_id INTEGER NOT NULL REFERENCES administrator_sessions (id) ON DELETE CASCADE,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (session_id, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE sign_in_attempts (
    subject BLOB NOT NULL PRIMARY KEY CHECK (length(subject) = 32),
    ends_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_attempts_by_end ON sign_in_attempts (ends_at);

ALTER TABLE api_keys ADD COLUMN created_by TEXT;
