import { runAsOwner } from '../../packages/server/src/database/pools.ts';
import { dropDueRecords } from '../../packages/server/src/retention/drop-due-records.ts';
import { setRetention } from '../../packages/server/src/workspace/set-retention.ts';
import type { BenchEnvironment } from '../environment.ts';
import { runLoad } from '../load.ts';
import { type RoundOptions, type Row, rowOf } from '../rounds.ts';
import { recordedRunRequests } from './recorded-runs.ts';
import { CONNECTIONS } from './requests.ts';

const [RETENTION_DAYS, DAY_MS] = [365, 86_400_000];

/**
 * Compares the rate at which recorded agent runs are dropped with the rate at which they were stored.
 * @param runsFile the file of the runs, as in `recordedRunRequests`.
 */
export async function retention(
  { port, key, tenantId, database }: BenchEnvironment,
  runsFile: string | undefined,
  { seconds }: RoundOptions,
): Promise<Row[]> {
  const { pool } = database;
  await setRetention(pool, tenantId, { traceDays: RETENTION_DAYS, isShortConfirmed: false }, 'operator');
  const loadRequests = recordedRunRequests(key, runsFile);
  const { latencies, perSecond } = await runLoad({ port, connections: CONNECTIONS, seconds, loadRequests });
  const startedAt = performance.now();
  const now = new Date(Date.now() + (RETENTION_DAYS + 1) * DAY_MS).toISOString();
  const dropped = await runAsOwner(database, (ownerPool) => dropDueRecords(ownerPool, tenantId, { now }));
  const rate = (dropped.traces / (performance.now() - startedAt)) * 1000;
  if (dropped.traces < latencies.length) throw new Error(`dropped ${dropped.traces} of ${latencies.length} traces`);
  const title = {
    work: 'retention, recorded runs',
    limit: 'storing these runs',
    unit: 'traces/s',
    target: { required: 1, stretch: 5 },
  };
  return [rowOf(title, [{ rate, limitRate: perSecond }], `${dropped.traces} traces`)];
}
