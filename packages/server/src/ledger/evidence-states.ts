import { hash } from 'node:crypto';
import { EVIDENCE_DOMAIN, type EvidenceEvent, readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceConflictError, EvidenceState } from '@countersign/core/domain/evidence-state';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Seals } from '../database/seals.ts';
import type { Transaction } from '../database/transaction.ts';
import { digests, sha256 } from '../digests.ts';
import { readEvidenceEvents, type StoredEvidenceEvent } from '../storage/evidence-events.ts';
import type { LockedHead, ReadHead, StoredHead } from '../storage/log-heads.ts';
import { noteBelief } from './head-memory.ts';
import { LogRewrittenError } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';

/** Agents in all states that are kept at once. Beyond, the workspace that was used longest ago is dropped and read again when needed. */
const AGENTS_MAX = 200_000;

/** How often a head is read anew while other transactions append. */
const READS_MAX = 50;

/** A workspace's state with the tree over the events that it was made from. */
interface Fold {
  state: EvidenceState;
  tree: Frontier;
}

const foldsOf = new WeakMap<Seals, Map<string, Fold>>();

function foldsOn(tx: Transaction): Map<string, Fold> {
  let folds = foldsOf.get(tx.seals);
  if (folds === undefined) {
    folds = new Map();
    foldsOf.set(tx.seals, folds);
  }
  return folds;
}

/**
 * Looks at what the evidence of the workspace adds up to, without a lock. Throws LogRewrittenError where the log is not as the server has left it.
 * @param look is given the state, to which events are applied later on, and the database's clock (UTC with microseconds), which is behind
 *   every moment in the log unless a clock was wrong.
 * @param read the log's head, where it has been read already.
 */
export async function readEvidence<T>(
  tx: Transaction,
  look: (state: EvidenceState, readAt: string) => T,
  read?: ReadHead,
): Promise<T> {
  let head = read ?? (await readSealedHead(tx, 'evidence'));
  for (let reads = 1; reads <= READS_MAX; reads += 1) {
    const known = foldsOn(tx).get(tx.tenantId);
    const fold = known?.state.size === head.seq ? known : await bringUpTo(tx, head);
    if (fold.state.size === head.seq) return look(held(tx, fold, head), head.readAt);
    // Another transaction has applied later events meanwhile: their moments may lie ahead of the clock that was read.
    const again = await readSealedHead(tx, 'evidence');
    if (again.seq <= head.seq) forgetEvidence(tx); // an accepted restore: the log is shorter than it was
    head = again;
  }
  throw new Error(`the evidence of tenant ${tx.tenantId} has grown during ${READS_MAX} reads`);
}

/** The state behind a locked head, to which nobody else can append. Throws LogRewrittenError likewise. */
export async function evidenceBehind(tx: Transaction, head: LockedHead): Promise<EvidenceState> {
  const fold = await bringUpTo(tx, head);
  return held(tx, fold, head);
}

/** Drops the state of the workspace; it is read again when it is needed. */
export const forgetEvidence = (tx: Transaction): void => void foldsOn(tx).delete(tx.tenantId);

/** Applies events that this process has appended and committed, if the state is known up to them. */
export function applyCommitted(
  tx: Transaction,
  before: LockedHead,
  events: readonly EvidenceEvent[],
  leafData: readonly Uint8Array[],
): void {
  const fold = foldsOn(tx).get(tx.tenantId);
  if (fold === undefined || fold.state.size !== before.seq) return;
  events.forEach((event, index) => {
    fold.state.apply(event);
    fold.tree.append(leafData[index]!);
  });
}

/** Reads the events that the state does not have yet. Others may do the same at the same time: each event is applied once. */
async function bringUpTo(tx: Transaction, head: Pick<StoredHead, 'seq'>): Promise<Fold> {
  const fold = use(tx);
  while (fold.state.size < head.seq) {
    const page = await readEvidenceEvents(tx, fold.state.size, head.seq);
    const next = page.findIndex(({ seq }) => seq === fold.state.size + 1);
    if (next === -1 && fold.state.size < (page.at(-1)?.seq ?? head.seq))
      throw rewritten(tx, `event ${fold.state.size + 1} is gone`);
    for (const row of next === -1 ? [] : page.slice(next)) add(tx, fold, row);
  }
  return fold;
}

/** The fold of the workspace, marked as the one that was used last. */
function use(tx: Transaction): Fold {
  const folds = foldsOn(tx);
  const known = folds.get(tx.tenantId);
  if (known === undefined) dropOldest(folds);
  const fold = known ?? { state: new EvidenceState(), tree: new Frontier(sha256) };
  folds.delete(tx.tenantId);
  folds.set(tx.tenantId, fold);
  return fold;
}

function dropOldest(folds: Map<string, Fold>): void {
  let agents = 0;
  for (const { state } of folds.values()) agents += state.agentCount + 1;
  for (const [tenantId, { state }] of folds) {
    if (agents <= AGENTS_MAX) return;
    folds.delete(tenantId);
    agents -= state.agentCount + 1;
  }
}

function add(tx: Transaction, fold: Fold, { seq, document }: StoredEvidenceEvent): void {
  const read = readEvidenceEvent(parsed(document), { seq: fold.state.size + 1, tenantId: tx.tenantId }, digests);
  if ('fault' in read) throw rewritten(tx, `event ${seq}: ${read.fault}`);
  fold.tree.append(hash('sha256', EVIDENCE_DOMAIN + document, 'buffer'));
  try {
    fold.state.apply(read.event);
  } catch (error) {
    if (error instanceof EvidenceConflictError) throw rewritten(tx, `event ${seq}: ${error.message}`);
    throw error;
  }
}

/** Returns the state if the events it was made from are those that the sealed head covers. */
function held(tx: Transaction, { state, tree }: Fold, head: Pick<StoredHead, 'seq' | 'tree'>): EvidenceState {
  if (state.size === head.seq && sameBytes(Buffer.concat(tree.roots), head.tree.frontier)) return state;
  throw rewritten(tx, `the ${state.size} events are not those that the head of ${head.seq} rows covers`);
}

/** The state is dropped: what was read into it cannot be taken back. */
function rewritten(tx: Transaction, fault: string): LogRewrittenError {
  forgetEvidence(tx);
  noteBelief(tx, 'evidence', false);
  return new LogRewrittenError(`the log evidence of tenant ${tx.tenantId}: ${fault}`);
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch {
    return undefined;
  }
}
