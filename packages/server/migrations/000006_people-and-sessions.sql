-- Up Migration
-- People, the workspaces they belong to, their sessions and one-time links (docs/decisions/0014 to 0016).

-- A person belongs to the instance and may be a member of several workspaces: no tenant_id, and no row-level security.
CREATE TABLE countersign.people (
  id uuid PRIMARY KEY,
  -- As it is compared: without regard to case.
  email text NOT NULL UNIQUE CHECK (char_length(email) BETWEEN 3 AND 254),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  -- An argon2id hash in PHC string form; null for somebody who has only ever come by a sign-in link.
  password text CHECK (password LIKE '$argon2id$%'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  password_changed_at timestamptz
);

CREATE TABLE countersign.memberships (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  person_id uuid NOT NULL REFERENCES countersign.people (id),
  role text NOT NULL CHECK (role IN ('viewer', 'approver', 'admin')),
  joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, person_id)
);
CREATE INDEX memberships_of_person ON countersign.memberships (person_id, tenant_id);

-- A workspace sees its members; besides, a person sees where they belong, in a transaction of their own.
ALTER TABLE countersign.memberships ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.memberships FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.memberships
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);
CREATE POLICY of_person ON countersign.memberships FOR SELECT
  USING (person_id = nullif(current_setting('countersign.person_id', true), '')::uuid);

-- Looked up by the hash of the cookie's token, which is nowhere else. Ending one is deleting it.
CREATE TABLE countersign.sessions (
  token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
  id uuid NOT NULL UNIQUE,
  person_id uuid NOT NULL REFERENCES countersign.people (id),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  user_agent text
);
CREATE INDEX sessions_of_person ON countersign.sessions (person_id, created_at);
CREATE INDEX sessions_by_end ON countersign.sessions (expires_at);

-- Looked up by the hash of its token before the workspace is known, so without row-level security. Using one is deleting it,
-- which only one of two can do.
CREATE TABLE countersign.one_time_links (
  token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
  id uuid NOT NULL UNIQUE,
  purpose text NOT NULL CHECK (purpose IN ('set_up', 'invitation', 'password_reset', 'sign_in')),
  -- Null for the set-up of the instance, where the workspace is yet to be made, and for links that are about a person alone.
  tenant_id uuid REFERENCES countersign.tenants (id),
  person_id uuid REFERENCES countersign.people (id),
  email text,
  role text CHECK (role IN ('viewer', 'approver', 'admin')),
  -- `operator`, or `user:<id>`.
  made_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  CHECK (CASE purpose
    WHEN 'set_up' THEN person_id IS NULL
    WHEN 'invitation' THEN tenant_id IS NOT NULL AND email IS NOT NULL AND role IS NOT NULL
    ELSE person_id IS NOT NULL END)
);
CREATE INDEX one_time_links_of_tenant ON countersign.one_time_links (tenant_id, purpose, created_at);
CREATE INDEX one_time_links_of_person ON countersign.one_time_links (person_id);
CREATE INDEX one_time_links_by_end ON countersign.one_time_links (expires_at);

-- Tries to sign in within the running window, by the hash of the address or account they came from or were about.
CREATE TABLE countersign.sign_in_attempts (
  subject bytea PRIMARY KEY CHECK (octet_length(subject) = 32),
  window_began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts integer NOT NULL DEFAULT 1 CHECK (attempts >= 0)
);
CREATE INDEX sign_in_attempts_by_age ON countersign.sign_in_attempts (window_began_at);
