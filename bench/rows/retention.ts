import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operations } from '@countersign/core/contract/operations';
import { toTrace } from '../../examples/tau-bench/convert.ts';
import { readPublishedRuns } from '../../examples/tau-bench/published-runs.ts';
import { asOwner } from '../../packages/server/src/database/pools.ts';
import { dropDueRecords } from '../../packages/server/src/retention/drop-due-records.ts';
import { setRetention } from '../../packages/server/src/workspace/set-retention.ts';
import type { BenchEnvironment } from '../environment.ts';
import { ID, postRequest, runLoad } from '../load.ts';
import { type Pace, type Row, rowOf } from '../rounds.ts';
import { CONNECTIONS } from './requests.ts';

const SAMPLE = fileURLToPath(new URL('../../examples/tau-bench/sample-runs.json', import.meta.url));
const YEAR_MS = 366 * 86_400_000;

/** Compares the rate at which recorded agent runs are dropped with the rate at which they were stored. */
export async function retention(
  { port, key, tenantId, database }: BenchEnvironment,
  runs: string | undefined,
  { seconds }: Pace,
): Promise<Row[]> {
  const { pool } = database;
  await setRetention(pool, tenantId, { traceDays: 365, isShortConfirmed: false }, 'operator');
  const loadRequests = readPublishedRuns(readFileSync(runs ?? SAMPLE, 'utf8')).map((run) =>
    postRequest(operations.ingestTrace.path, key, JSON.stringify({ ...toTrace(run, 'gpt-4o'), trace_id: `run-${ID}` })),
  );
  const { latencies, perSecond } = await runLoad({ port, connections: CONNECTIONS, seconds, loadRequests });
  const startedAt = performance.now();
  const now = new Date(Date.now() + YEAR_MS).toISOString();
  const dropped = await asOwner(database, (ownerPool) => dropDueRecords(ownerPool, tenantId, { now }));
  const rate = (dropped.traces / (performance.now() - startedAt)) * 1000;
  if (dropped.traces < latencies.length) throw new Error(`dropped ${dropped.traces} of ${latencies.length} traces`);
  const title = {
    work: 'retention, recorded runs',
    limit: 'storing them',
    unit: 'traces/s',
    target: { required: 1, stretch: 5 },
  };
  return [rowOf(title, [{ rate, limitRate: perSecond }], `${dropped.traces} traces`)];
}
