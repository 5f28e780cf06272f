-- Up Migration
-- Digests of the two skeletons of an agent's name, by which names that look alike are found (docs/decisions/0040). The server makes them
-- when it registers an agent. Where they are NULL, as for agents that are registered already, the server fills them while it runs.
ALTER TABLE countersign.agents
  ADD COLUMN name_skeleton bytea CHECK (octet_length(name_skeleton) = 32),
  ADD COLUMN name_skeleton_caseless bytea CHECK (octet_length(name_skeleton_caseless) = 32);
CREATE INDEX agents_name_skeleton ON countersign.agents (tenant_id, name_skeleton);
CREATE INDEX agents_name_skeleton_caseless ON countersign.agents (tenant_id, name_skeleton_caseless);
CREATE INDEX agents_without_skeleton ON countersign.agents (tenant_id, id) WHERE name_skeleton IS NULL;
