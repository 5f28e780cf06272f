import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import { inSnapshotTransaction } from '../database/transaction.ts';
import { readRetentionPeriods, type StoredPeriod } from '../storage/retention-periods.ts';
import { findEntries } from './find-entries.ts';

/**
 * Returns the periods if they are exactly those that the changes in the audit ledger have set. Without this check, an older and shorter
 * period would apply again if a later row of the table was deleted. If a period was set after the periods were read, returns the new one
 * too.
 * @param periods read before this call.
 * @param afterPage awaited after each page of the ledger; an error ends the reading.
 * @throws BrokenSealError if the table and the ledger differ.
 * @throws LogRewrittenError if the ledger was changed outside the server.
 */
export async function verifyPeriods(
  pool: Pool,
  tenantId: string,
  periods: readonly StoredPeriod[],
  afterPage: () => Promise<void>,
): Promise<readonly StoredPeriod[]> {
  const changes = await findEntries(pool, tenantId, { matches: isChange, afterPage });
  const current = changes.length > periods.length ? await inSnapshotTransaction(pool, tenantId, readRetentionPeriods) : periods;
  // A period that was set after the ledger was read is left out. It applies only to records that are received later.
  const verified = current.slice(0, changes.length);
  const areRecorded =
    verified.length === changes.length && verified.every((period, index) => matchesEntry(period, changes[index]!));
  if (!areRecorded || periods.length > changes.length) throw new BrokenSealError('retention_periods');
  return verified;
}

/**
 * Whether an entry is a change of the periods. Entries that ingestion keys recorded do not count, because senders choose the action of
 * their entries.
 */
const isChange = ({ action, recorded_by: by }: Record<string, unknown>): boolean =>
  action === 'retention.changed' && !String(by).startsWith('key:');

/** Whether a period has the values that its entry in the ledger has set. */
function matchesEntry({ since, traceDays, telemetryDays, entrySeq }: StoredPeriod, entry: Record<string, unknown>): boolean {
  const { after } = entry.metadata as { after: Record<string, unknown> };
  return (
    entry.seq === entrySeq &&
    entry.recorded_at === since &&
    after.trace_days === traceDays &&
    after.telemetry_days === telemetryDays
  );
}
