import { RETENTION_DAYS_MAX, SHORT_RETENTION_DAYS } from '@countersign/core/contract/retention-days';
import type { RetentionPeriod } from '@countersign/core/domain/retention';
import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import { inSnapshotTransaction } from '../database/transaction.ts';
import { verifyPeriods } from '../ledger/verify-periods.ts';
import { insertRetentionPeriod, readRetentionPeriods } from '../storage/retention-periods.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { RuleViolationError } from './rule-violation.ts';
import { InvalidInputError } from './wrong-input.ts';

/** The numbers of days for which traces and telemetry are kept; null for forever. */
export type RetentionDays = Omit<RetentionPeriod, 'since'>;

/** The periods of a workspace that has never set any: everything is kept. */
const FOREVER: RetentionDays = { traceDays: null, telemetryDays: null };

/** The new numbers of days. Undefined leaves a number unchanged; null is forever. */
export interface RetentionChange {
  traceDays?: number | null | undefined;
  telemetryDays?: number | null | undefined;
  /** Whether a period of less than SHORT_RETENTION_DAYS is confirmed. */
  isShortConfirmed: boolean;
}

/** The current period of a workspace, and all its periods, oldest first. */
export async function readRetention(
  pool: Pool,
  tenantId: string,
): Promise<{ current: RetentionDays; periods: RetentionPeriod[] }> {
  const periods = await inSnapshotTransaction(pool, tenantId, readRetentionPeriods);
  return { current: periods.at(-1) ?? FOREVER, periods };
}

/**
 * Sets for how many days the traces and telemetry received from now on are kept. Returns false, and writes nothing, if nothing changes.
 * First compares the periods with the whole audit ledger. Without this comparison, the new period could follow a list from which a period
 * was deleted outside the server. Retention would then find the difference in every later comparison.
 * @throws InvalidInputError for a number of days that is not a whole number from 1 to RETENTION_DAYS_MAX.
 * @throws ShortPeriodError for a short period that is not confirmed.
 * @throws BrokenSealError if the periods were changed outside the server.
 * @throws LogRewrittenError if the audit ledger was changed outside the server.
 */
export async function setRetention(pool: Pool, tenantId: string, change: RetentionChange, by: Actor): Promise<boolean> {
  requireDays('traces', change.traceDays);
  requireDays('telemetry', change.telemetryDays);
  // A change that lacks its confirmation is rejected before the comparison, which can take minutes.
  if (MEMBERS.some((member) => isShort(change[member])) && !change.isShortConfirmed)
    requireConfirmation((await readRetention(pool, tenantId)).current, change);
  const verifiedPeriods = await comparePeriods(pool, tenantId);
  return governanceAct(pool, tenantId, by, async ({ tx, now, record }) => {
    const periods = await readRetentionPeriods(tx);
    if (periods.length < verifiedPeriods.length) throw new BrokenSealError('retention_periods');
    const before = periods.at(-1) ?? FOREVER;
    const after = changedDays(before, change);
    if (MEMBERS.every((member) => after[member] === before[member])) return false;
    requireConfirmation(before, change);
    const entrySeq = record({
      action: 'retention.changed',
      metadata: { before: entryMembersOf(before), after: entryMembersOf(after) },
    });
    insertRetentionPeriod(tx, periods.length + 1, { since: now, ...after }, entrySeq);
    return true;
  });
}

const MEMBERS = ['traceDays', 'telemetryDays'] as const;

const changedDays = (before: RetentionDays, change: RetentionChange): RetentionDays => ({
  traceDays: change.traceDays === undefined ? before.traceDays : change.traceDays,
  telemetryDays: change.telemetryDays === undefined ? before.telemetryDays : change.telemetryDays,
});

const isShort = (days: number | null | undefined): boolean => typeof days === 'number' && days < SHORT_RETENTION_DAYS;

/** @throws ShortPeriodError if the change sets a short period and is not confirmed. */
function requireConfirmation(before: RetentionDays, change: RetentionChange): void {
  const after = changedDays(before, change);
  const setsShort = MEMBERS.some((member) => after[member] !== before[member] && isShort(after[member]));
  if (setsShort && !change.isShortConfirmed) throw new ShortPeriodError();
}

/** The running comparison of each workspace's periods with its ledger. */
const comparisons = new WeakMap<Pool, Map<string, Promise<readonly RetentionPeriod[]>>>();

/**
 * Returns the periods, compared with the audit ledger (`verifyPeriods`). Changes at the same time share one comparison. Otherwise an admin
 * who sends many changes would make the server read a long ledger many times at once, which slows down all senders.
 */
function comparePeriods(pool: Pool, tenantId: string): Promise<readonly RetentionPeriod[]> {
  const runningComparisons = comparisons.get(pool) ?? new Map<string, Promise<readonly RetentionPeriod[]>>();
  comparisons.set(pool, runningComparisons);
  const compare = async () =>
    verifyPeriods(pool, tenantId, await inSnapshotTransaction(pool, tenantId, readRetentionPeriods), async () => undefined);
  const comparison = runningComparisons.get(tenantId) ?? compare().finally(() => runningComparisons.delete(tenantId));
  runningComparisons.set(tenantId, comparison);
  return comparison;
}

/** A period of less than SHORT_RETENTION_DAYS is not confirmed. The message says why a confirmation is necessary. */
export class ShortPeriodError extends RuleViolationError {
  override name = 'ShortPeriodError';

  constructor() {
    super(SHORT_PERIOD);
  }
}

const SHORT_PERIOD = `a period of less than ${SHORT_RETENTION_DAYS} days must be confirmed: articles 19 and 26(6) of the EU AI Act require the logs of high-risk systems to be kept for at least six months`;

const entryMembersOf = ({ traceDays, telemetryDays }: RetentionDays) => ({
  trace_days: traceDays,
  telemetry_days: telemetryDays,
});

function requireDays(what: string, days: number | null | undefined): void {
  if (days === null || days === undefined) return;
  if (!Number.isInteger(days) || days < 1 || days > RETENTION_DAYS_MAX)
    throw new InvalidInputError(
      `the period of ${what} must be a whole number of days from 1 to ${RETENTION_DAYS_MAX}, or forever`,
    );
}
