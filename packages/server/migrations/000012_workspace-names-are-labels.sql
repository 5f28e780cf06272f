-- Up Migration
-- A workspace's name is a label. A unique constraint told a tenant that renames its workspace which names other tenants use.
ALTER TABLE countersign.tenants DROP CONSTRAINT tenants_name_key;
