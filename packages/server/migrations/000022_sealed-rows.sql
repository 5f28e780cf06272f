-- Up Migration
-- Rows that no log holds bear a seal of their own: a message authentication code by a key that is not in the database (docs/formats.md,
-- "Sealed rows"). What was written without seals is never sealed afterwards: nothing says that it is what the server wrote.
DO $$
BEGIN
  IF EXISTS (SELECT FROM countersign.instance) OR EXISTS (SELECT FROM countersign.signing_keys) OR EXISTS (SELECT FROM countersign.people)
     OR EXISTS (SELECT FROM countersign.tenants) THEN
    RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = 'this database was written by a version whose rows bear no seals';
  END IF;
END $$;
-- The moments under a seal come from the server, and not from a default that somebody may change.
ALTER TABLE countersign.instance ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33);
ALTER TABLE countersign.signing_keys ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN created_at DROP DEFAULT;
ALTER TABLE countersign.people ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33);
ALTER TABLE countersign.sessions ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN created_at DROP DEFAULT;
ALTER TABLE countersign.one_time_links ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN created_at DROP DEFAULT;
ALTER TABLE countersign.memberships ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN joined_at DROP DEFAULT;
ALTER TABLE countersign.decision_keys ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN created_at DROP DEFAULT;
ALTER TABLE countersign.tenants ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN created_at DROP DEFAULT;
ALTER TABLE countersign.idempotency_keys ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  ALTER COLUMN created_at DROP DEFAULT;
