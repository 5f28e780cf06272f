-- Up Migration
-- The agents with the same skeleton, oldest first, so that a lookup reads only the oldest ones, however many there are
-- (docs/decisions/0040).
DROP INDEX countersign.agents_name_skeleton;
DROP INDEX countersign.agents_name_skeleton_caseless;
CREATE INDEX agents_name_skeleton ON countersign.agents (tenant_id, name_skeleton, created_at, id);
CREATE INDEX agents_name_skeleton_caseless ON countersign.agents (tenant_id, name_skeleton_caseless, created_at, id);
