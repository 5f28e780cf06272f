import type { RetentionPeriod } from '@countersign/core/domain/retention';
import { BrokenSealError } from '../database/broken-seals.ts';
import { type RawRow, type SealedTable, sealedColumns, sealedInstant, shownInstant } from '../database/sealed-table.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** The sealed columns of a retention period. Numbers are sealed as text. */
interface PeriodRow {
  number: string;
  since: string;
  traceDays: string | null;
  telemetryDays: string | null;
  entrySeq: string;
}

/** The columns that the seal covers. */
export const RETENTION_PERIODS: SealedTable<PeriodRow> = {
  name: 'retention_periods',
  version: 1,
  columns: [
    { field: 'number', column: 'number::text', kind: 'plain' },
    { field: 'since', column: 'since', kind: 'instant' },
    { field: 'traceDays', column: 'trace_days::text', kind: 'plain' },
    { field: 'telemetryDays', column: 'telemetry_days::text', kind: 'plain' },
    { field: 'entrySeq', column: 'entry_seq::text', kind: 'plain' },
  ],
  identifyingFields: ['number'],
};

const LIST = sql<RawRow>(
  'list_retention_periods',
  `SELECT ${sealedColumns(RETENTION_PERIODS, 'p')} FROM countersign.retention_periods AS p WHERE p.tenant_id = $1 ORDER BY p.number`,
);

// Senders with an ingestion key can also write entries with the action `retention.changed`. The `recorded_by` of their entries begins with
// `key:`.
const NEWEST_CHANGE = sql<{ seq: number }>(
  'find_newest_retention_change',
  `SELECT seq FROM countersign.audit_entries
    WHERE tenant_id = $1 AND action = 'retention.changed' AND recorded_by NOT LIKE 'key:%' ORDER BY seq DESC LIMIT 1`,
);

/** A stored retention period. */
export interface StoredPeriod extends RetentionPeriod {
  /** The number of its entry in the audit ledger. */
  entrySeq: number;
}

/**
 * The retention periods of the workspace, oldest first. The newest change is looked up in unsealed columns of the audit ledger. Before
 * records are dropped, `verifyPeriods` (ledger/verify-periods.ts) must compare the periods with the documents of the ledger.
 * @throws BrokenSealError if a row was changed, added or removed outside the server. In that case nothing may be dropped.
 */
export async function readRetentionPeriods(tx: Transaction): Promise<StoredPeriod[]> {
  const [raw, changes] = await Promise.all([tx.run(LIST, [tx.tenantId]), tx.run(NEWEST_CHANGE, [tx.tenantId])]);
  const rows = raw.flatMap((row) => tx.seals.openRow(RETENTION_PERIODS, tx.tenantId, row) ?? []);
  const areComplete = rows.length === raw.length && rows.every(({ number }, index) => Number(number) === index + 1);
  const newest = rows.at(-1)?.entrySeq;
  if (!areComplete || newest !== changes[0]?.seq.toString()) throw new BrokenSealError('retention_periods');
  return rows.map(({ since, traceDays, telemetryDays, entrySeq }) => ({
    since: shownInstant(since),
    traceDays: traceDays === null ? null : Number(traceDays),
    telemetryDays: telemetryDays === null ? null : Number(telemetryDays),
    entrySeq: Number(entrySeq),
  }));
}

const INSERT = sql(
  'insert_retention_period',
  `INSERT INTO countersign.retention_periods (tenant_id, number, since, trace_days, telemetry_days, entry_seq, seal)
   VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);

/**
 * Adds a retention period.
 * @param number its position among the periods of the workspace, from 1.
 * @param entrySeq the number of its entry in the audit ledger.
 */
export function insertRetentionPeriod(tx: Transaction, number: number, period: RetentionPeriod, entrySeq: number): void {
  const since = sealedInstant(new Date(period.since));
  const text = (days: number | null) => days?.toString() ?? null;
  const row: PeriodRow = {
    number: String(number),
    since,
    traceDays: text(period.traceDays),
    telemetryDays: text(period.telemetryDays),
    entrySeq: String(entrySeq),
  };
  const seal = tx.seals.ofRow(RETENTION_PERIODS, tx.tenantId, row);
  tx.send(INSERT, [tx.tenantId, number, since, period.traceDays, period.telemetryDays, entrySeq, seal]);
}
