import type { DifferingRow } from '@countersign/core/portal/differing-row';
import { useWorkspace } from '../api/session.ts';
import { Notice } from './notice.tsx';

const TABLES: Readonly<Record<string, string>> = {
  agents: 'Agent',
  evaluations: 'Evaluation',
  approvals: 'Approval of evaluation',
  recertifications: 'Re-certification of incident',
  ingestion_keys: 'Ingestion key',
  traces: 'Run',
  trace_submissions: 'Run',
  merged_spans: 'Run',
  merged_traces: 'Run',
};

const LOGS: Readonly<Record<string, string>> = {
  audit_entries: 'Audit ledger',
  decisions: 'Decision log',
  evidence_events: 'Evidence log',
  key_events: 'Key audit trail',
  trace_events: 'Trace log',
};

/** The text before the ID. For a log, the ID is the number of a row, or what contradicts the log, such as `the stored head`. */
function subjectOf({ table, id }: DifferingRow): string {
  const log = LOGS[table];
  if (log === undefined) return TABLES[table] ?? table;
  return /^\d+$/.test(id) ? `${log}, row` : `${log},`;
}

/** A notice that lists rows that differ from their log, and rows of logs that are not valid. Renders nothing if there are none. */
export function DifferingRows({ rows }: { rows: readonly DifferingRow[] }) {
  const { workspace } = useWorkspace();
  if (rows.length === 0) return null;
  return (
    <Notice kind="problem" title="The database was changed outside Countersign" role="alert">
      <p>
        Pages may show these records incorrectly. Promotion decisions depend on the evidence log only. Ask the operator to restore
        the rows from a backup, and to run <code>countersign-server ledger verify --workspace {workspace.id} --log all</code>.
      </p>
      <ul>
        {rows.map((row) => (
          <li key={`${row.table} ${row.id} ${row.fault}`}>
            {subjectOf(row)} <code>{row.id}</code>: {row.fault}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
