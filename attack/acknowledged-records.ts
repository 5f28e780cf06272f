import { outputOf } from '../packages/server/test/fixtures/run-command.ts';
import type { Target } from './target.ts';
import type { Kind, VictimReport } from './victim.ts';

/** For each kind of record, the query that selects the markers (`VictimReport`) of the stored records. */
const MARKER_QUERIES: Record<Kind, string> = {
  audit: 'SELECT trace_id AS marker FROM countersign.audit_entries WHERE tenant_id = $1 AND trace_id IS NOT NULL',
  telemetry: 'SELECT trace_id AS marker FROM countersign.telemetry_events WHERE tenant_id = $1',
  evaluations: 'SELECT name AS marker FROM countersign.evaluations WHERE tenant_id = $1',
  traces: 'SELECT trace_id AS marker FROM countersign.traces WHERE tenant_id = $1',
};

/** A server whose records are checked. */
type CheckedServer = Pick<Target, 'query' | 'victim'> & Pick<Target['folder'], 'environment'>;

/** Counts the acknowledged records that are missing from the database. */
export async function countLostRecords(
  target: CheckedServer,
  { acknowledged }: Pick<VictimReport, 'acknowledged'>,
): Promise<number> {
  let lost = 0;
  for (const kind of new Set(acknowledged.map((each) => each.kind))) {
    const rows = await target.query<{ marker: string }>(MARKER_QUERIES[kind], [target.victim.tenantId]);
    const stored = new Set(rows.map(({ marker }) => marker));
    lost += acknowledged.filter((each) => each.kind === kind && !stored.has(each.marker)).length;
  }
  return lost;
}

/** Whether `ledger verify` finds all logs of the victim valid. */
export async function areLogsValid(target: CheckedServer): Promise<boolean> {
  return outputOf(['ledger', 'verify', '--workspace', target.victim.tenantId, '--log', 'all'], target.environment).then(
    () => true,
    () => false,
  );
}
