-- There is no foreign key: processes of older versions delete organizations without their invitations,
-- and Citus distributes only the organizations. An invitation without its organization has no effect.
CREATE TABLE administrator_invitations (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    organization_id bigint NOT NULL,
    email text NOT NULL,
    folded_email text COLLATE "C" NOT NULL,
    role text NOT NULL,
    digest bytea NOT NULL,
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    CONSTRAINT administrator_invitations_pk PRIMARY KEY (id),
    CONSTRAINT administrator_invitations_email_once UNIQUE (organization_id, folded_email),
    CONSTRAINT administrator_invitations_digest_once UNIQUE (digest),
    CONSTRAINT administrator_invitations_role CHECK (role IN ('admin', 'viewer')),
    CONSTRAINT administrator_invitations_digest CHECK (octet_length(digest) = 32)
);
