import { operations } from '@countersign/core/contract/operations';
import { type AgentClaim, claimedAgents } from '@countersign/core/domain/agent-claim';
import type { UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import type { EvidenceState, KnownAgent } from '@countersign/core/domain/evidence-state';
import type { TakeMore } from '../database/batch-writer.ts';
import { ignoreRejection, type Transaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { lockLogs, lockLogsAndRead } from '../ledger/advance.ts';
import { appendEntries } from '../ledger/append.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { isShared } from '../ledger/head-memory.ts';
import { guessHead, type RememberedHeads } from '../ledger/remembered-heads.ts';
import type { HeadToMove, ReadHead } from '../storage/log-heads.ts';
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
  firstItems: readonly PreparedAudit[],
  rememberedHeads: RememberedHeads,
  takeMore: TakeMore<PreparedAudit> = () => [],
): Promise<Outcome[]> {
  const lockedHeads = isShared(tx, 'audit') ? await lockLogs(tx, ['audit']) : undefined;
  const items = lockedHeads === undefined ? firstItems : [...firstItems, ...takeMore()];
  const mayGuess = lockedHeads === undefined && items.length <= REMEMBERED_HEAD_ITEMS_MAX && items.every(readsNothing);
  const guess = mayGuess ? guessHead(tx, 'audit', rememberedHeads) : undefined;
  const guessedHead = guess instanceof Promise ? await guess : guess;
  const knownHeads = lockedHeads ?? (guessedHead === undefined ? undefined : { audit: guessedHead });
  const heads = ignoreRejection(readHeads(tx, items, knownHeads));
  const agents = ignoreRejection(heads.then(({ evidence }) => findRegisteredAgents(tx, items, evidence)));
  let lastHead: HeadToMove | undefined;
  const outcomes = await commitWithReplays(tx, operations.appendAuditEntry.path, items, async (newItems) => {
    const { moved, outcomes } = store(tx, await heads, await agents, newItems);
    lastHead = moved;
    return outcomes;
  });
  if (lastHead !== undefined) rememberedHeads.remember(tx.tenantId, lastHead);
  return outcomes;
}

const namesAgent = ({ claim }: PreparedAudit): boolean => claim.id !== null || claim.name !== null;

/** Whether an entry has no agent to look up, and no Idempotency-Key. */
const readsNothing = (item: PreparedAudit): boolean => !namesAgent(item) && item.idempotency === undefined;

/** The head of the audit ledger, and the head of the evidence log if both were read together. */
interface BatchHeads {
  audit: HeadToMove;
  evidence?: ReadHead;
}

/** Locks the audit ledger unless its head is known. The same round trip reads the evidence log's head if an entry names an agent. */
async function readHeads(
  tx: Transaction,
  items: readonly PreparedAudit[],
  known: { audit: HeadToMove } | undefined,
): Promise<BatchHeads> {
  if (known !== undefined) return known;
  if (!items.some(namesAgent)) return lockLogs(tx, ['audit']);
  const { locked, read } = await lockLogsAndRead(tx, ['audit'], 'evidence', () => undefined);
  return { ...locked, evidence: read };
}

/**
 * The registered agents that the entries name. They are read from the evidence log and not from their table, so that no entry names an
 * agent that only the table has.
 */
async function findRegisteredAgents(
  tx: Transaction,
  items: readonly PreparedAudit[],
  evidence?: ReadHead,
): Promise<KnownAgent[]> {
  if (!items.some(namesAgent)) return [];
  const [ids, names] = claimedAgents(items.map(({ claim }) => claim));
  const find = (state: EvidenceState) => [...ids.map((id) => state.agent(id)), ...names.map((name) => state.agentNamed(name))];
  return (await evidenceStates.read(tx, find, evidence)).filter((agent) => agent !== undefined);
}

function store(
  tx: Transaction,
  { audit: head }: BatchHeads,
  agents: readonly KnownAgent[],
  items: readonly PreparedAudit[],
): { outcomes: Outcome[]; moved: HeadToMove } {
  const batchAgents = new BatchAgents(agents, 'leave it out, and name the agent in subject or metadata');
  const rejections = items.map(({ claim, entry }) => {
    const resolved = batchAgents.resolve([claim], entry.recorded_by);
    return 'issues' in resolved ? validationFailed(...resolved.issues) : undefined;
  });
  const { rows, moved } = appendEntries(
    tx,
    head,
    items.filter((_, index) => rejections[index] === undefined).map(({ entry }) => entry),
  );
  let nextIndex = 0;
  const outcomes = rejections.map((rejection): Outcome => {
    if (rejection !== undefined) return rejection;
    const { entry, rowHash } = rows[nextIndex++]!;
    return ingestReply(
      { ok: true, id: entry.id, row_hash: rowHash, prev_hash: entry.prev_hash },
      { 'Countersign-Ledger-Seq': String(entry.seq) },
    );
  });
  return { outcomes, moved };
}
