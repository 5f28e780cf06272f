import type { SealedHead } from '@countersign/core/domain/head-seal';
import { isExactInstant, isInstant } from '@countersign/core/domain/member-forms';
import type { Transaction } from '../database/transaction.ts';
import {
  type HeadToMove,
  insertHead,
  LOG_NAMES,
  type LogName,
  lockHeads,
  type MovedHead,
  moveGuessedHead,
  moveHead,
  type ReadHead,
  readHead,
  type StoredHead,
} from '../storage/log-heads.ts';
import {
  endRefusal,
  findContinuityFault,
  lastSeenHead,
  nextSharedReads,
  noteHeadState,
  readGrowth,
  rememberSeen,
  type SeenHead,
} from './head-memory.ts';
import { LogRewrittenError } from './log-tree.ts';

/** Creates the sealed heads of a new tenant's logs. */
export const insertSealedHeads = (tx: Transaction): Promise<unknown> =>
  Promise.all(
    LOG_NAMES.map((log) => insertHead(tx, log, tx.seals.ofHead({ ...sealedOf(tx, log, EMPTY_HEAD), lastMoment: null }))),
  );

const EMPTY_HEAD = { seq: 0, rowHash: null, tree: { size: 0, frontier: new Uint8Array() } };

/**
 * Locks the heads of a tenant's logs, in the same order everywhere.
 * @param sendAfterLocks sends a statement that runs after the locks, in the same round trip.
 * @throws LogRewrittenError if a head is missing, is not valid (`sealFault`, `timesFault`), or does not continue the last known state of
 *   the log.
 */
export async function lockSealedHeads<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  sendAfterLocks?: () => void,
): Promise<Record<L, HeadToMove>> {
  const found = seenOf(tx, logs);
  const seen = found instanceof Map ? found : await found;
  const locking = lockHeads(tx, logs);
  const growths = readGrowths(tx, logs, seen);
  sendAfterLocks?.();
  return verifyLocked(tx, logs, seen, growths, await locking);
}

/** Does the same as `lockSealedHeads`, and reads the head of another log after the locks, in the same round trip. */
export async function lockAndReadSealedHeads<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  other: LogName,
  sendAfterLocks: () => void,
): Promise<{ locked: Record<L, HeadToMove>; read: ReadHead }> {
  const found = seenOf(tx, [...logs, other]);
  const seen = found instanceof Map ? found : await found;
  const reading = Promise.all([lockHeads(tx, logs), readHead(tx, other)]);
  const growths = readGrowths(tx, [...logs, other], seen);
  sendAfterLocks();
  const [stored, head] = await reading;
  return {
    locked: await verifyLocked(tx, logs, seen, growths, stored),
    read: await verifyHead(tx, other, seen.get(other), head, growths.get(other)),
  };
}

type Growths = ReadonlyMap<LogName, Promise<Buffer> | undefined>;

const readGrowths = (tx: Transaction, logs: readonly LogName[], seen: SeenHeads): Growths =>
  new Map(logs.map((log) => [log, readGrowth(tx, log, seen.get(log))]));

type SeenHeads = Map<LogName, SeenHead | undefined>;

/** The last seen heads of logs. Call it before a statement that reads their heads. Returns a promise if `lastSeenHead` returns one. */
function seenOf(tx: Transaction, logs: readonly LogName[]): SeenHeads | Promise<SeenHeads> {
  const found = logs.map((log) => [log, lastSeenHead(tx, log)] as const);
  const isKnown = (each: (typeof found)[number]): each is readonly [LogName, SeenHead | undefined] =>
    !(each[1] instanceof Promise);
  if (found.every(isKnown)) return new Map(found);
  return Promise.all(found.map(async ([log, seen]) => [log, await seen] as const)).then((known) => new Map(known));
}

async function verifyLocked<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  seen: SeenHeads,
  growths: Growths,
  stored: Awaited<ReturnType<typeof lockHeads>>,
): Promise<Record<L, HeadToMove>> {
  const locked = {} as Record<L, HeadToMove>;
  for (const log of logs) {
    const head = stored.get(log);
    const { seq, rowHash, tree } = await verifyHead(tx, log, seen.get(log), head, growths.get(log));
    const { now, clock, receivedAtMs } = head!;
    locked[log] = { seq, rowHash, tree, now, clock, receivedAtMs };
  }
  return locked;
}

/** Reads the head of a log without a lock. Throws LogRewrittenError in the same cases as `lockSealedHeads`. */
export async function readSealedHead(tx: Transaction, log: LogName): Promise<ReadHead> {
  const found = lastSeenHead(tx, log);
  const seen = found instanceof Promise ? await found : found;
  return verifyHead(tx, log, seen, await readHead(tx, log));
}

/** Moves a locked or guessed head to its next state, with a seal. */
export function moveSealedHead(tx: Transaction, log: LogName, head: MovedHead & Pick<HeadToMove, 'guessed'>): void {
  const seal = tx.seals.ofHead({ ...sealedOf(tx, log, head), lastMoment: head.now.replace('Z', '000Z') });
  tx.afterCommit(() => rememberSeen(tx, log, head.tree));
  if (head.guessed === undefined) moveHead(tx, log, head, seal);
  else moveGuessedHead(tx, log, head.guessed, head, seal);
}

/**
 * Why a stored head is not valid; undefined if its seal is valid and its tree covers all rows. The types are also checked. If the type of a
 * column was changed, a number arrives as text. The seal would be valid, but `seq + 1` would be wrong.
 */
export function sealFault(tx: Transaction, log: LogName, head: StoredHead): string | undefined {
  const { seal, seq, tree } = head;
  if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(tree.size) || !(tree.frontier instanceof Uint8Array))
    return 'the type of one of its columns was changed outside the server';
  if (seal === null) return 'it has no seal: it was written outside the server';
  if (!tx.seals.matchesHead({ ...sealedOf(tx, log, head), lastMoment: head.lastMoment }, seal))
    return 'its seal is not valid: it was written outside the server, or with another master secret';
  return head.tree.size === head.seq ? undefined : `its tree covers ${head.tree.size} of ${head.seq} rows`;
}

/** Why the times that were read with a head cannot be sealed; undefined if they can. */
function timesFault({ clock, readAt }: ReadTimes): string | undefined {
  if ((clock === undefined || isInstant(clock)) && (readAt === undefined || isExactInstant(readAt))) return undefined;
  return 'the database returns times in another format: a function or a setting was changed outside the server';
}

/** The times of a HeadToMove, and of a ReadHead. */
type ReadTimes = Partial<Pick<HeadToMove, 'clock'> & Pick<ReadHead, 'readAt'>>;

/**
 * Returns the head if it and its times are valid (`sealFault`, `timesFault`), and if it continues the last known state of the log.
 * Otherwise throws LogRewrittenError.
 */
async function verifyHead<H extends StoredHead & ReadTimes>(
  tx: Transaction,
  log: LogName,
  seen: SeenHead | undefined,
  head: H | undefined,
  growth?: Promise<Buffer>,
): Promise<H> {
  const fault =
    head === undefined
      ? 'it is gone'
      : (sealFault(tx, log, head) ?? timesFault(head) ?? (await findContinuityFault(tx, log, seen, head.tree, growth)));
  noteHeadState(tx, log, fault === undefined);
  if (fault !== undefined || head === undefined)
    throw new LogRewrittenError(`the head of the log ${log} of tenant ${tx.tenantId}: ${fault}`);
  endRefusal(tx, log, seen);
  // The head is remembered only after the commit, because this transaction may have moved it and may be rolled back.
  const sharedReads = nextSharedReads(seen, head.tree);
  tx.afterCommit(() => rememberSeen(tx, log, head.tree, sharedReads));
  return head;
}

const sealedOf = (
  tx: Transaction,
  log: LogName,
  { seq, rowHash, tree }: Pick<StoredHead, 'seq' | 'rowHash' | 'tree'>,
): Omit<SealedHead, 'lastMoment'> => ({ tenantId: tx.tenantId, log, size: seq, lastHash: rowHash, frontier: tree.frontier });
