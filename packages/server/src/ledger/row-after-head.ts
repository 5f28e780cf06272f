import type { Transaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { noteAppend } from './head-memory.ts';
import { LogRewrittenError } from './log-tree.ts';

/** The unique constraints of each log. An append violates one of them if one of its row numbers is stored already. */
const CONSTRAINTS: Readonly<Record<LogName, readonly string[]>> = {
  audit: ['audit_entries_pkey', 'audit_entries_no_fork'],
  decisions: ['decisions_pkey'],
  evidence: ['evidence_events_pkey'],
  keys: ['key_events_pkey'],
  traces: ['trace_events_pkey'],
};

const TREE_CONSTRAINT = 'tree_nodes_pkey';

/** The members of an error of PostgreSQL that are read here. */
interface UniqueViolation {
  code?: unknown;
  message?: unknown;
  constraint?: unknown;
}

/**
 * Makes an append fail with LogRewrittenError if the database already has one of its rows or tree nodes. Every append has locked or moved
 * the head before it inserts rows. So such a row was not written by a server, and a retry would fail too.
 * @param appended.lastSeq the number of the last appended row. PostgreSQL does not name the stored row, because row-level security hides
 *   it.
 * @param appended.hasNodes whether the append also inserts tree nodes.
 */
export function reportRowAfterHead(
  tx: Transaction,
  log: LogName,
  { lastSeq, hasNodes }: { lastSeq: number; hasNodes: boolean },
): void {
  tx.afterCommit(() => noteAppend(tx, log, true));
  tx.replaceError((error) => {
    const constraint = violatedConstraint(error);
    const isNode = hasNodes && constraint === TREE_CONSTRAINT;
    if (!isNode && !CONSTRAINTS[log].includes(constraint ?? '')) return error;
    noteAppend(tx, log, false);
    const found = isNode ? 'a node of its tree' : `a row after its sealed head (number ${lastSeq} or lower)`;
    return new LogRewrittenError(`the log ${log} of tenant ${tx.tenantId}: ${found} was written outside the server`);
  });
}

/** The unique constraint that a statement has violated; undefined after any other error. */
function violatedConstraint(error: unknown): string | undefined {
  const { code, message, constraint } = (error ?? {}) as UniqueViolation;
  if (code !== '23505') return undefined;
  // Citus omits the member `constraint`, and adds the number of the shard to the name.
  return String(constraint ?? /"(\w+)"/.exec(String(message))?.[1]).replace(/_\d+$/, '');
}
