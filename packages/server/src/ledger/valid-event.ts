import type { Transaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { LogRewrittenError } from './log-tree.ts';

/**
 * Returns an event to append, as the verifier has read it.
 * @throws LogRewrittenError if the verifier rejects it. The event contains values from the database, which may have been changed outside
 *   the server. An event that every verifier rejects would make the log unusable.
 */
export function requireValidEvent<Read extends object>(tx: Transaction, log: LogName, read: Read | { fault: string }): Read {
  if (!('fault' in read)) return read;
  throw new LogRewrittenError(
    `the next event of the log ${log} of tenant ${tx.tenantId} would not be valid (${read.fault}): the database was changed outside the ` +
      'server',
  );
}
