import { type EvidenceEvent, hashEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { Frontier, type TreeNode } from '@countersign/core/domain/merkle-tree';
import type { Pool } from 'pg';
import { digests, sha256 } from '../../src/crypto/digests.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { evidenceStates } from '../../src/ledger/evidence-states.ts';
import { acceptHead } from '../../src/ledger/head-memory.ts';
import type { TestServer } from './test-server.ts';

/** Runs SQL as the superuser. */
type RunSql = <Row extends Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;

/** SQL for a time as text with microseconds. */
const MICROSECONDS = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
/** SQL for a time as text with milliseconds. */
const MILLISECONDS = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Reads the events that produce the rows of a workspace's tables. Agents come first, and decisions of people come last. */
const READ_FACTS = `
  SELECT fact FROM (
    SELECT 0 AS round, created_at AS at, 0 AS place, jsonb_build_object('action', 'agent.registered', 'agent_id', id, 'agent_name', name,
           'recorded_at', ${MILLISECONDS('created_at')}) AS fact FROM countersign.agents WHERE tenant_id = $1
    UNION ALL
    SELECT 1, created_at, 0, jsonb_build_object('action', 'agent.risk_set', 'agent_id', id, 'risk_level', risk_level,
           'recorded_at', ${MILLISECONDS('created_at')}) FROM countersign.agents WHERE tenant_id = $1 AND risk_level <> 'low'
    UNION ALL
    SELECT 2, NULL, seq, jsonb_build_object('action', 'evaluation.recorded', 'agent_id', agent_id, 'category', category,
           'document_sha256', encode(sha256(convert_to(document, 'UTF8')), 'hex'), 'evaluated_at', ${MICROSECONDS('evaluated_at')},
           'evaluation_id', id, 'harness_id', harness_id, 'name', name, 'pass_rate', pass_rate, 'status', status, 'suite', suite,
           'recorded_at', ${MILLISECONDS('recorded_at')}, 'recorded_by', recorded_by)
      FROM countersign.evaluations WHERE tenant_id = $1 AND agent_id IS NOT NULL
    UNION ALL
    SELECT 2, NULL, i.seq, jsonb_build_object('action', 'incident.opened', 'agent_id', i.agent_id, 'incident_id', i.id,
           'recertification_required', r.incident_id IS NOT NULL, 'recorded_at', ${MILLISECONDS('i.opened_at')})
      FROM countersign.incidents AS i
      LEFT JOIN countersign.recertifications AS r ON r.tenant_id = i.tenant_id AND r.incident_id = i.id WHERE i.tenant_id = $1
    UNION ALL
    SELECT 3, decided_at, 0, jsonb_build_object('action', 'approval.decided', 'agent_id', agent_id, 'evaluation_id', evaluation_id, 'status', status,
           'recorded_at', ${MILLISECONDS('decided_at')}) FROM countersign.approvals WHERE tenant_id = $1 AND status <> 'pending'
    UNION ALL
    SELECT 3, closed_at, 0, jsonb_build_object('action', 'recertifications.closed', 'agent_id', agent_id, 'evaluation_id', evaluation_id,
           'incident_ids', jsonb_build_array(incident_id), 'recorded_at', ${MILLISECONDS('closed_at')})
      FROM countersign.recertifications WHERE tenant_id = $1 AND closed_at IS NOT NULL) AS facts
   ORDER BY round, at, place`;

/**
 * Rewrites a workspace's evidence log from the tables of the workspace and seals the head of the log. For tests that insert by SQL what
 * a server could have recorded, or that act as an attacker with the master secret.
 * @param pool a pool that was given the database's seals (`shareSeals`).
 */
export async function rebuildEvidence(run: RunSql, pool: Pool, tenantId: string): Promise<void> {
  const facts = await run<{ fact: object }>(READ_FACTS, [tenantId]);
  const events = facts.map(
    ({ fact }, index) => ({ recorded_by: 'operator', ...fact, version: 1, tenant_id: tenantId, seq: index + 1 }) as EvidenceEvent,
  );
  const hashed = events.map((event) => hashEvidenceEvent(event, digests));
  const tree = new Frontier(sha256);
  const nodes: TreeNode[] = [];
  for (const { hash } of hashed)
    tree.append(Buffer.from(hash, 'hex'), (node) => void (node.level > 0 && node.level % 8 === 0 && nodes.push(node)));
  for (const table of ['evidence_events', 'tree_nodes'])
    await run(`ALTER TABLE countersign.${table} DISABLE TRIGGER append_only`);
  await run('DELETE FROM countersign.evidence_events WHERE tenant_id = $1', [tenantId]);
  await run(`DELETE FROM countersign.tree_nodes WHERE tenant_id = $1 AND log = 'evidence'`, [tenantId]);
  for (const table of ['evidence_events', 'tree_nodes'])
    await run(`ALTER TABLE countersign.${table} ENABLE ALWAYS TRIGGER append_only`);
  await run(
    `INSERT INTO countersign.evidence_events (tenant_id, seq, event_hash, document)
     SELECT $1, n, decode(h, 'hex'), d FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS made (h, d, n)`,
    [tenantId, hashed.map(({ hash }) => hash), hashed.map(({ canonical }) => canonical)],
  );
  for (const { level, index, hash } of nodes)
    await run(`INSERT INTO countersign.tree_nodes (tenant_id, log, level, index, hash) VALUES ($1, 'evidence', $2, $3, $4)`, [
      tenantId,
      level,
      index,
      Buffer.from(hash),
    ]);
  // The head gets the current time and not the time of the last event, which a test may have moved into the future. After a head in the
  // future, the server would record no event.
  await moveHead(run, pool, { tenantId, tree, lastMoment: new Date().toISOString() });
}

async function moveHead(
  run: RunSql,
  pool: Pool,
  { tenantId, tree, lastMoment }: { tenantId: string; tree: Frontier; lastMoment: string },
): Promise<void> {
  const frontier = Buffer.concat(tree.roots);
  await inTenantTransaction(pool, tenantId, async (tx) => {
    const sealed = { tenantId, log: 'evidence', size: tree.size, lastHash: null, frontier };
    const seal = tx.seals.ofHead({ ...sealed, lastMoment: lastMoment.replace('Z', '000Z') });
    await run(
      `UPDATE countersign.log_heads SET seq = $2, tree_size = $2, frontier = $3, last_recorded_at = $4::timestamptz, seal = $5
        WHERE tenant_id = $1 AND log = 'evidence'`,
      [tenantId, tree.size, frontier, lastMoment, seal],
    );
    acceptHead(tx, 'evidence', { size: tree.size, frontier });
    evidenceStates.forget(tx);
  });
}

/** Rewrites the evidence log of every workspace of a server. */
export async function rebuildAllEvidence({ database, open }: Pick<TestServer, 'database' | 'open'>): Promise<void> {
  for (const { id } of await database.sql<{ id: string }>('SELECT id FROM countersign.tenants'))
    await rebuildEvidence(database.sql, open.pool, id);
}
