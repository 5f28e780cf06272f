import type { BenchEnvironment } from '../environment.ts';
import { runLoad } from '../load.ts';
import { type RoundOptions, type Row, rowOf } from '../rounds.ts';
import { recordedRunRequests } from './recorded-runs.ts';
import { CONNECTIONS } from './requests.ts';

/**
 * Sends recorded agent runs, first over 64 connections and then over one. Compares the bytes that the runs use on disk, including indexes,
 * with the bytes of their bodies.
 */
export async function disk(
  environment: BenchEnvironment,
  runsFile: string | undefined,
  { seconds }: RoundOptions,
): Promise<Row[]> {
  const loadRequests = recordedRunRequests(environment.key, runsFile);
  const rows: Row[] = [];
  for (const connections of [CONNECTIONS, 1]) {
    const before = await bytesPerTable(environment);
    const { latencies, perSecond } = await runLoad({ port: environment.port, connections, seconds, loadRequests });
    const after = await bytesPerTable(environment);
    const receivedBytes = meanBytes(loadRequests.map(({ request }) => bodyBytes(request)));
    const storedPerTable = [...after].map(
      ([name, bytes]) => [name, (bytes - (before.get(name) ?? 0)) / latencies.length] as const,
    );
    const storedBytes = storedPerTable.reduce((sum, [, bytes]) => sum + bytes, 0);
    const parts = storedPerTable.filter(([, bytes]) => bytes >= 1).map(([name, bytes]) => `${name} ${Math.round(bytes)}`);
    const title = {
      work: `disk, recorded runs, ${connections} connections`,
      limit: 'bytes received',
      unit: 'bytes/trace',
      target,
    };
    rows.push(
      rowOf(
        title,
        [{ rate: storedBytes, limitRate: receivedBytes }],
        `${Math.round(perSecond)} traces/s; bytes: ${parts.join(', ')}`,
      ),
    );
  }
  return rows;
}

const target = { required: 0.3, stretch: 0.12, isLowerBetter: true };

const bodyBytes = (request: Buffer): number => request.length - request.indexOf('\r\n\r\n') - 4;
const meanBytes = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0) / sizes.length;

/** The bytes of each table with its indexes, after a checkpoint. */
async function bytesPerTable({ superuser }: BenchEnvironment): Promise<Map<string, number>> {
  await superuser.query('CHECKPOINT');
  const { rows } = await superuser.query<{ name: string; bytes: string }>(
    `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
      WHERE relnamespace = 'countersign'::regnamespace AND relkind = 'r' ORDER BY relname`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}
