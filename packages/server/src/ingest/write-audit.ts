import { operations } from '@countersign/core/contract/operations';
import { type AgentClaim, claimedAgents } from '@countersign/core/domain/agent-claim';
import type { UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import type { TakeMore } from '../database/batch-writer.ts';
import { ignoreRejection, type Transaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries } from '../ledger/append.ts';
import { isShared } from '../ledger/head-memory.ts';
import type { RememberedHeads } from '../ledger/remembered-heads.ts';
import { findAgents } from '../storage/agents.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { BatchAgents } from './batch-agents.ts';
import { ingestReply } from './ingest-request.ts';
import { commitWithReplays, type Outcome, type Replayable } from './replays.ts';

/** An audit entry to append. */
export interface PreparedAudit extends Replayable {
  claim: AgentClaim;
  entry: Omit<UnlinkedEntry, 'tenant_id' | 'id' | 'recorded_at'>;
}

/**
 * The largest batch that is appended to a remembered head. Such a batch saves a round trip, which is half of its latency. Larger batches
 * occur under load. They read the head first: meanwhile, more entries arrive for the next batch, which then is larger. This raises the rate
 * by 6 to 12 % (docs/performance.md).
 */
const REMEMBERED_HEAD_ITEMS_MAX = 4;

/**
 * Appends audit entries of one tenant in one transaction, in the order of arrival. If this process remembers the head, a small batch that
 * reads nothing else is sent in one round trip, including COMMIT. While another server appends to the log, the head is locked first, and
 * the entries that arrive before the lock is granted join the batch.
 */
export async function writeAudit(
  tx: Transaction,
  first: readonly PreparedAudit[],
  heads: RememberedHeads,
  takeMore: TakeMore<PreparedAudit> = () => [],
): Promise<Outcome[]> {
  const awaited = isShared(tx, 'audit') ? await lockLogs(tx, ['audit']) : undefined;
  const items = awaited === undefined ? first : [...first, ...takeMore()];
  const mayGuess = awaited === undefined && items.length <= REMEMBERED_HEAD_ITEMS_MAX && items.every(readsNothing);
  const guessed = mayGuess ? heads.get(tx.tenantId) : undefined;
  const known = awaited ?? (guessed === undefined ? undefined : { audit: guessed });
  const locked = known === undefined ? ignoreRejection(lockLogs(tx, ['audit'])) : Promise.resolve(known);
  const agents = ignoreRejection(findAgents(tx, ...claimedAgents(items.map(({ claim }) => claim))));
  let lastHead: HeadToMove | undefined;
  const outcomes = await commitWithReplays(tx, operations.appendAuditEntry.path, items, async (fresh) => {
    const { moved, outcomes } = await store(tx, locked, agents, fresh);
    lastHead = moved;
    return outcomes;
  });
  if (lastHead !== undefined) heads.remember(tx.tenantId, lastHead);
  return outcomes;
}

/** Whether an entry has no agent to look up, and no Idempotency-Key. */
const readsNothing = ({ claim, idempotency }: PreparedAudit): boolean =>
  claim.id === null && claim.name === null && idempotency === undefined;

async function store(
  tx: Transaction,
  locked: Promise<{ audit: HeadToMove }>,
  agents: ReturnType<typeof findAgents>,
  items: readonly PreparedAudit[],
): Promise<{ outcomes: Outcome[]; moved: HeadToMove }> {
  const { audit: head } = await locked;
  const batchAgents = new BatchAgents(await agents, 'leave it out, and name the agent in subject or metadata');
  const rejections = items.map(({ claim, entry }) => {
    const resolved = batchAgents.resolve([claim], entry.recorded_by);
    return 'issues' in resolved ? validationFailed(...resolved.issues) : undefined;
  });
  const { rows, moved } = appendEntries(
    tx,
    head,
    items.filter((_, index) => rejections[index] === undefined).map(({ entry }) => entry),
  );
  let next = 0;
  const outcomes = rejections.map((rejection): Outcome => {
    if (rejection !== undefined) return rejection;
    const { entry, rowHash } = rows[next++]!;
    return ingestReply(
      { ok: true, id: entry.id, row_hash: rowHash, prev_hash: entry.prev_hash },
      { 'Countersign-Ledger-Seq': String(entry.seq) },
    );
  });
  return { outcomes, moved };
}
