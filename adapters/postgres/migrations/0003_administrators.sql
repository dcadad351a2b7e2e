CREATE TABLE administrators (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    email text NOT NULL,
    folded_email text COLLATE "C" NOT NULL,
    password_hash text,
    created_at timestamptz(3) NOT NULL,
    CONSTRAINT administrators_pk PRIMARY KEY (id),
    CONSTRAINT administrators_email_once UNIQUE (folded_email)
);

CREATE TABLE administrator_memberships (
    organization_id bigint NOT NULL,
    administrator_id bigint NOT NULL,
    role text NOT NULL,
    CONSTRAINT administrator_memberships_pk PRIMARY KEY (organization_id, administrator_id),
    CONSTRAINT administrator_memberships_organization
        FOREIGN KEY (organization_id) REFERENCES organizations (id),
    CONSTRAINT administrator_memberships_administrator
        FOREIGN KEY (administrator_id) REFERENCES administrators (id) ON DELETE CASCADE,
    CONSTRAINT administrator_memberships_role CHECK (role IN ('admin', 'viewer'))
);

CREATE INDEX administrator_memberships_by_administrator
ON administrator_memberships (administrator_id);

CREATE TABLE administrator_links (
    administrator_id bigint NOT NULL,
    purpose text NOT NULL,
    digest bytea NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    CONSTRAINT administrator_links_pk PRIMARY KEY (administrator_id, purpose),
    CONSTRAINT administrator_links_digest_once UNIQUE (digest),
    CONSTRAINT administrator_links_administrator
        FOREIGN KEY (administrator_id) REFERENCES administrators (id) ON DELETE CASCADE,
    CONSTRAINT administrator_links_purpose CHECK (purpose IN ('set_password', 'sign_in')),
    CONSTRAINT administrator_links_digest CHECK (octet_length(digest) = 32)
);

CREATE TABLE administrator_sessions (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    administrator_id bigint NOT NULL,
    digest bytea NOT NULL,
    user_agent text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    last_used_at timestamptz(3) NOT NULL,
    CONSTRAINT administrator_sessions_pk PRIMARY KEY (id),
    CONSTRAINT administrator_sessions_digest_once UNIQUE (digest),
    CONSTRAINT administrator_sessions_administrator
        FOREIGN KEY (administrator_id) REFERENCES administrators (id) ON DELETE CASCADE,
    CONSTRAINT administrator_sessions_digest CHECK (octet_length(digest) = 32)
);

CREATE INDEX administrator_sessions_by_administrator
ON administrator_sessions (administrator_id);

CREATE TABLE administrator_forms (
    session_id bigint NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT administrator_forms_pk PRIMARY KEY (session_id, digest),
    CONSTRAINT administrator_forms_session
        FOREIGN KEY (session_id) REFERENCES administrator_sessions (id) ON DELETE CASCADE,
    CONSTRAINT administrator_forms_digest CHECK (octet_length(digest) = 32)
);

CREATE TABLE sign_in_attempts (
    subject bytea NOT NULL,
    ends_at timestamptz(3) NOT NULL,
    attempts integer NOT NULL,
    CONSTRAINT sign_in_attempts_pk PRIMARY KEY (subject),
    CONSTRAINT sign_in_attempts_subject CHECK (octet_length(subject) = 32)
);

CREATE INDEX sign_in_attempts_by_end ON sign_in_attempts (ends_at);

ALTER TABLE api_keys ADD COLUMN created_by text;
