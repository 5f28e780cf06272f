import { createWorkspace } from '../../packages/server/src/workspace/create-workspace.ts';
import { mintKey } from '../../packages/server/src/workspace/ingestion-keys.ts';
import { fillLedger } from '../chain.ts';
import type { BenchEnvironment } from '../environment.ts';
import { getRequest, runLoad } from '../load.ts';
import { percentile, type RoundOptions, type Row, rowOf } from '../rounds.ts';

/** The number of prepared requests, each for the proof of a random row. A round sends as many as its time allows, one after another. */
const PROVED_ROWS = 20_000;

/** The 99th percentile of the time in which the server proves that a row is in a ledger. Requests are sent one after another. */
export async function proof(
  { database: { pool }, port, superuser }: BenchEnvironment,
  rows: number,
  options: RoundOptions,
): Promise<Row[]> {
  const tenantId = await createWorkspace(pool, 'proof');
  const token = { name: 'auditor', scopes: ['read'], expiresAt: null } as const;
  const key = await mintKey(pool, tenantId, token, 'operator');
  let size = 0;
  for await (const appended of fillLedger(pool, tenantId, rows)) size += appended.length;
  // Autovacuum does this within a minute. Before a vacuum, the first reader of a new row writes the page of the row again.
  await superuser.query('VACUUM ANALYZE');
  const loadRequests = Array.from({ length: PROVED_ROWS }, () =>
    getRequest(`/api/ledger/audit/inclusion/${1 + Math.floor(Math.random() * size)}`, key),
  );
  const proofs = async () => (await runLoad({ port, connections: 1, seconds: options.seconds, loadRequests })).latencies;
  await proofs();
  const medians: number[] = [];
  const rounds: Row['rounds'] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const latencies = await proofs();
    medians.push(percentile(latencies, 0.5));
    rounds.push({ rate: percentile(latencies, 0.99), limitRate: 1 });
  }
  const title = { work: `proof that a row is among ${size}, p99`, limit: 'ms', unit: 'ms', target };
  return [rowOf(title, rounds, `p50 in each round: ${medians.map((each) => each.toFixed(2)).join(', ')} ms`)];
}

const target = { required: 10, stretch: 5, isLowerBetter: true };
