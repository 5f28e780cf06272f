-- Up Migration
-- Without this foreign key, a key whose row was deleted outside the server can still be revoked (docs/decisions/0048).
ALTER TABLE countersign.key_events DROP CONSTRAINT IF EXISTS key_events_tenant_id_key_id_fkey;
