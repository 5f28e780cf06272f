-- Up Migration
-- Keys are looked up by their prefix across workspaces, in no workspace's transaction. In one, only that workspace's are seen, as of every
-- other table: what the portal lists has row-level security behind it.
ALTER TABLE countersign.ingestion_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.ingestion_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.ingestion_keys
  USING (nullif(current_setting('countersign.tenant_id', true), '') IS NULL
         OR tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);
