import type { DifferingRow } from '@countersign/core/portal/differing-row';
import { Notice } from './notice.tsx';

const TABLES: Readonly<Record<string, string>> = {
  agents: 'Agent',
  evaluations: 'Evaluation',
  approvals: 'Approval of evaluation',
  recertifications: 'Re-certification of incident',
  traces: 'Run',
  trace_submissions: 'Run',
  trace_events: 'Log of traces, event',
};

/** Rows of the database that differ from their log: the pages show them wrongly, and decisions do not depend on them. */
export function DifferingRows({ rows }: { rows: readonly DifferingRow[] }) {
  if (rows.length === 0) return null;
  return (
    <Notice kind="problem" title="The database was changed outside Countersign" role="alert">
      <p>
        Pages may show these records wrongly. Promotion decisions do not depend on them: they are made on the log of evidence. Ask
        the operator to put the rows back as the log says, from a backup, and to run{' '}
        <code>countersign-server ledger verify --log all</code>.
      </p>
      <ul>
        {rows.map(({ table, id, fault }) => (
          <li key={`${table} ${id} ${fault}`}>
            {TABLES[table] ?? table} <code>{id}</code>: {fault}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
