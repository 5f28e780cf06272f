import { operations } from '@countersign/core/contract/operations';
import type { UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import { validationFailed } from '../api-error.ts';
import { type Transaction, underWay } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries } from '../ledger/append.ts';
import { findAgents } from '../storage/agents.ts';
import type { LockedHead } from '../storage/ledger.ts';
import { AgentBook, type AgentClaim, claimed } from './agent-book.ts';
import { answered } from './endpoint.ts';
import { commitWithReplays, type Outcome, type Replayable, type Written } from './replays.ts';

/** An audit entry ready to be linked. */
export interface PreparedAudit extends Replayable {
  claim: AgentClaim;
  entry: Omit<UnlinkedEntry, 'tenant_id' | 'id' | 'recorded_at'>;
}

/** Appends audit entries of one tenant in one transaction, in the order they came. */
export async function writeAudit(tx: Transaction, items: readonly PreparedAudit[]): Promise<Outcome[]> {
  const locked = underWay(lockLogs(tx, ['audit']));
  const agents = underWay(findAgents(tx, ...claimed(items.map(({ claim }) => claim))));
  return commitWithReplays(tx, operations.appendAuditEntry.path, items, (fresh) => store(tx, locked, agents, fresh));
}

async function store(
  tx: Transaction,
  locked: Promise<{ audit: LockedHead }>,
  agents: ReturnType<typeof findAgents>,
  items: readonly PreparedAudit[],
): Promise<Written> {
  const { audit: head } = await locked;
  const book = new AgentBook(await agents);
  const refusals = items.map(({ claim }) => {
    const resolved = book.resolve([claim]);
    return 'issues' in resolved ? validationFailed(...resolved.issues) : undefined;
  });
  const { rows, sent } = appendEntries(
    tx,
    head,
    items.filter((_, index) => refusals[index] === undefined).map(({ entry }) => entry),
  );
  let next = 0;
  const outcomes = refusals.map((refusal): Outcome => {
    if (refusal !== undefined) return refusal;
    const { entry, rowHash } = rows[next++]!;
    return answered(
      { ok: true, id: entry.id, row_hash: rowHash, prev_hash: entry.prev_hash },
      { 'Countersign-Ledger-Seq': String(entry.seq) },
    );
  });
  return { outcomes, sent };
}
