import { createWorkspace } from '../../packages/server/src/workspace/create-workspace.ts';
import { mintKey } from '../../packages/server/src/workspace/ingestion-keys.ts';
import { filledLedger } from '../chain.ts';
import { fire, getting } from '../load.ts';
import { type Pace, percentile, type Row, rowOf } from '../rounds.ts';
import type { World } from '../world.ts';

/** Rows that proofs are asked for, anywhere in the ledger: none is asked for twice soon. */
const PLACES = 20_000;

/** The slow ones of the proofs that any rows are in a ledger, one after the other over HTTP, against a budget. */
export async function proof({ database: { pool }, port, superuser }: World, rows: number, pace: Pace): Promise<Row[]> {
  const tenantId = await createWorkspace(pool, 'proof');
  const token = { name: 'auditor', scopes: ['read'], expiresAt: null } as const;
  const key = await mintKey(pool, tenantId, token, 'operator');
  let size = 0;
  for await (const slice of filledLedger(pool, tenantId, rows)) size += slice.length;
  // What autovacuum does within a minute: the first reader of a row that was just written writes its page again.
  await superuser.query('VACUUM ANALYZE');
  const shots = Array.from({ length: PLACES }, () =>
    getting(`/api/ledger/audit/inclusion/${1 + Math.floor(Math.random() * size)}`, key),
  );
  const proofs = async () => (await fire({ port, connections: 1, seconds: pace.seconds, shots })).latencies;
  await proofs();
  const medians: number[] = [];
  const rounds: Row['rounds'] = [];
  for (let round = 0; round < pace.rounds; round += 1) {
    const latencies = await proofs();
    medians.push(percentile(latencies, 0.5));
    rounds.push({ rate: percentile(latencies, 0.99), limitRate: 1 });
  }
  const title = { work: `proof that a row is among ${size}, p99`, limit: 'ms', unit: 'ms', goal };
  return [rowOf(title, rounds, `its p50 in each round: ${medians.map((each) => each.toFixed(2)).join(', ')} ms`)];
}

const goal = { atLeast: 10, moonshot: 5, lessIsBetter: true };
