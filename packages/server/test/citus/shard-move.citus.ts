import { expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, testServer } from '../harness/test-server.ts';

const server = await testServer();

interface Placement extends Record<string, unknown> {
  shardid: string;
  nodename: string;
  nodeport: number;
}

/** Returns the shard with the traces of a workspace: `current` with the node that has the shard, `other` with the other worker. */
async function placementsOf(tenantId: string): Promise<{ current: Placement; other: Placement }> {
  const rows = await server.database.sql<Placement>(
    `SELECT p.shardid::text, n.nodename, n.nodeport, p.groupid = n.groupid AS here
       FROM pg_dist_node AS n CROSS JOIN pg_dist_placement AS p
      WHERE p.shardid = get_shard_id_for_distribution_column('countersign.traces', $1::uuid) AND n.shouldhaveshards`,
    [tenantId],
  );
  return { current: rows.find(({ here }) => here)!, other: rows.find(({ here }) => !here)! };
}

/**
 * Moves the rows of a workspace to the other worker. The role that replicates the rows must not be subject to row-level
 * security. So the owner of the tables is exempt during a move by replication (docs/scaling.md).
 */
async function move(tenantId: string, mode: 'force_logical' | 'block_writes'): Promise<void> {
  const { current, other } = await placementsOf(tenantId);
  if (mode === 'force_logical') await setRowSecurity('NO FORCE');
  try {
    await server.database.sql(
      `SELECT citus_move_shard_placement($1::bigint, $2, $3, $4, $5, shard_transfer_mode => $6::citus.shard_transfer_mode)`,
      [current.shardid, current.nodename, current.nodeport, other.nodename, other.nodeport, mode],
    );
  } finally {
    if (mode === 'force_logical') await setRowSecurity('FORCE');
  }
  expect((await placementsOf(tenantId)).current.nodeport).toBe(other.nodeport);
}

/** Changes one table at a time, because a transaction that locks several tables can deadlock with transactions of the server. */
async function setRowSecurity(state: 'FORCE' | 'NO FORCE'): Promise<void> {
  const tables = await server.database.sql<{ name: string }>(
    `SELECT logicalrelid::text AS name FROM pg_dist_partition WHERE partmethod = 'h' ORDER BY 1`,
  );
  for (const { name } of tables) await server.database.sql(`ALTER TABLE ${name} ${state} ROW LEVEL SECURITY`);
}

test.each(['block_writes', 'force_logical'] as const)(
  'moving a workspace during requests that write to it loses and duplicates no record (%s)',
  async (mode) => {
    const tenant = await server.workspace();
    const key = await server.key(tenant);
    const acknowledgedTraceIds = new Set<string>();
    const acknowledgedEntryIds = new Set<string>();
    let isMoved = false;
    let respondedPairCount = 0;
    const write = async (writer: number) => {
      for (let number = 0; !isMoved || number < 20; number += 1) {
        const traceId = `${mode}-${writer}-${number}`;
        const [trace, entry] = await Promise.all([
          server.post(paths.traces, key, { trace_id: traceId, agent_name: 'moving', outcome: 'success' }),
          server.post(paths.audit, key, { actor: 'ci', action: 'moved', metadata: { traceId } }),
        ]);
        // A request that waits for longer than the limit is rejected with 503. It is not acknowledged.
        expect([200, 503]).toContain(trace.status);
        expect([200, 503]).toContain(entry.status);
        if (trace.status === 200) acknowledgedTraceIds.add(traceId);
        if (entry.status === 200) acknowledgedEntryIds.add(entry.body.id);
        if (!isMoved) respondedPairCount += 1;
      }
    };
    const writing = Array.from({ length: 6 }, (_, writer) => write(writer));
    await until('the writers have sent requests', () => respondedPairCount > 20);
    await move(tenant, mode).finally(() => {
      isMoved = true;
    });
    await Promise.all(writing);

    const stored = await server.database.sql<{ trace_id: string; submissions: number }>(
      `SELECT t.trace_id, (SELECT count(*)::int FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.trace = t.id) AS submissions
       FROM countersign.traces AS t WHERE t.tenant_id = $1`,
      [tenant],
    );
    expect(stored.filter(({ submissions }) => submissions !== 1)).toEqual([]);
    const ids = stored.map(({ trace_id }) => trace_id);
    expect([...acknowledgedTraceIds].filter((traceId) => !ids.includes(traceId))).toEqual([]);
    const ledger = await server.database.sql<{ id: string }>('SELECT id FROM countersign.audit_entries WHERE tenant_id = $1', [
      tenant,
    ]);
    const ledgerIds = new Set(ledger.map(({ id }) => id));
    expect(ledgerIds.size).toBe(ledger.length);
    expect([...acknowledgedEntryIds].filter((id) => !ledgerIds.has(id))).toEqual([]);
    await server.compareSchema();
    for (const log of ['audit', 'decisions', 'evidence', 'keys', 'traces'])
      expect(await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', tenant, '--log', log)).toMatchObject({
        status: 0,
      });
  },
);
