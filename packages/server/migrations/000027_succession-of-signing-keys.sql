-- Up Migration
-- A signing key is believed only with its predecessor's signature (docs/decisions/0049). The rows of before have none, and their seals
-- do not cover the new columns.
DO $$
BEGIN
  IF EXISTS (SELECT FROM countersign.signing_keys) THEN
    RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = 'this database was written by a version whose signing keys are not signed by their predecessors';
  END IF;
END $$;
ALTER TABLE countersign.signing_keys
  ADD COLUMN predecessor text,
  ADD COLUMN predecessor_signature bytea CHECK (octet_length(predecessor_signature) = 64),
  ADD COLUMN reset_from text;
