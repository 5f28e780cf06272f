import type { Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import type { HeadToMove, LogName } from '../storage/log-heads.ts';
import { isAnyRunHeld } from '../storage/run-holds.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';

/** A run must be kept (`isHeld` in storage/run-holds.ts). */
export class RunHeldError extends RuleViolationError {
  override name = 'RunHeldError';

  constructor() {
    super(
      'an evaluation, an incident or an audit entry with a retention date names this run, so it must be kept; add --even-if-held to erase it nevertheless',
    );
  }
}

/**
 * Locks the heads of these logs and of the evidence log, and then checks that none of the runs must be kept. The caller then records that
 * the runs were deleted. Every record that keeps a run is written under the lock of the head of the audit ledger or of the evidence log. So
 * no such record can be written between this check and the end of the transaction.
 * @param logs must contain `audit`.
 * @param today the date, YYYY-MM-DD.
 * @throws RunHeldError if one of the runs must be kept, for example because of a record that was written after an earlier check.
 */
export async function lockHeadsUnlessHeld<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  traceIds: readonly string[],
  today: string,
): Promise<Record<L, HeadToMove>> {
  const heads = await lockLogs<LogName>(tx, [...logs, 'evidence']);
  if (await isAnyRunHeld(tx, traceIds, today)) throw new RunHeldError();
  return heads;
}
