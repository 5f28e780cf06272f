-- Up Migration
-- The head of a log bears a seal: a message authentication code by a key that is not in the database (docs/formats.md, "Sealed heads"). What
-- was written without seals is never sealed afterwards: nothing says that it is what the server wrote.
DO $$
BEGIN
  IF EXISTS (SELECT FROM countersign.tenants) THEN
    RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = 'this database was written by a version whose ledgers bear no seals';
  END IF;
END $$;
ALTER TABLE countersign.log_heads ADD COLUMN seal bytea NOT NULL CHECK (octet_length(seal) = 33);
