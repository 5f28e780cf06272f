-- Up Migration
-- Since when a server has signed by a key. One that no server has taken yet is followed by nothing: the key before it must not be ended,
-- or what the servers go on signing by that would be believed by nobody. Those that are listed so far have signed.
ALTER TABLE countersign.signing_keys ADD COLUMN signs_since timestamptz;
UPDATE countersign.signing_keys SET signs_since = created_at;
