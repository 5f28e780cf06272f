-- Up Migration
-- Merkle trees over the three logs of a tenant, their checkpoints, read tokens, and the instance's signing keys.

-- The right edge of each log's tree: the roots of its complete subtrees, 32 bytes each, and how many rows it covers.
-- A log that was written before there were trees is caught up by the next append.
ALTER TABLE countersign.log_heads
  ADD COLUMN tree_size bigint NOT NULL DEFAULT 0 CHECK (tree_size >= 0),
  ADD COLUMN frontier bytea NOT NULL DEFAULT '' CHECK (octet_length(frontier) % 32 = 0);

-- Complete subtrees of 256, 65,536, ... rows: what lies between is computed anew for a proof from at most 255 hashes a level.
-- A row per 255 appended ones; storing every node would double the writes.
CREATE TABLE countersign.tree_nodes (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  log text NOT NULL CHECK (log IN ('audit', 'decisions', 'keys')),
  level smallint NOT NULL CHECK (level > 0 AND level % 8 = 0),
  index bigint NOT NULL CHECK (index >= 0),
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (tenant_id, log, level, index)
);

-- Signed heads, as they were given out (C2SP tlog-checkpoint).
CREATE TABLE countersign.checkpoints (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  log text NOT NULL CHECK (log IN ('audit', 'decisions', 'keys')),
  size bigint NOT NULL CHECK (size >= 0),
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  note text NOT NULL,
  PRIMARY KEY (tenant_id, log, size)
);

DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['tree_nodes', 'checkpoints'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change()', name);
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ALWAYS TRIGGER append_only', name);
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE countersign.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY of_tenant ON countersign.%I
      USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
      WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)$policy$, name);
  END LOOP;
END $$;

-- A read token is a key of another kind: same storing, rotating and revoking, one scope of its own, no other.
ALTER TABLE countersign.ingestion_keys
  ADD COLUMN kind text NOT NULL DEFAULT 'live' CHECK (kind IN ('live', 'read')),
  DROP CONSTRAINT ingestion_keys_scopes_check,
  ADD CONSTRAINT ingestion_keys_scopes_check CHECK (
    cardinality(scopes) > 0 AND CASE kind
      WHEN 'live' THEN scopes <@ ARRAY['telemetry', 'evaluations', 'audit', 'governance']
      ELSE scopes = ARRAY['read'] END);

-- Hash of each event of the key audit trail: the leaf data of its tree (docs/formats.md).
ALTER TABLE countersign.key_events ADD COLUMN event_hash bytea CHECK (octet_length(event_hash) = 32);

-- The instance's Ed25519 keys by their public halves. Two may be live while one follows the other; ended ones stay listed.
CREATE TABLE countersign.signing_keys (
  kid text PRIMARY KEY,
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz
);
