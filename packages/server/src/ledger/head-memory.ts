import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { type Seals, sealsOf } from '../database/seals.ts';
import { ignoreRejection, type Transaction } from '../database/transaction.ts';
import type { LogName, StoredTree } from '../storage/log-heads.ts';
import { readLeafData } from '../storage/tree.ts';
import { growTree, hashesIn, isExtension, openFrontier } from './log-tree.ts';
import { MemoryFolderError } from './memory-folder-error.ts';

/** The largest number of remembered heads. Above it, the least recently used one is dropped. */
const HEADS_MAX = 30_000;

/** The size of a log and its root at that size. */
export interface KeptHead {
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** Stores the newest checkpoint of each log outside the database and this process. */
export interface HeadStore {
  /** The stored checkpoint of a log; undefined if there is none. Throws if it cannot be read (MemoryFolderError) or is damaged. */
  latest(tenantId: string, log: LogName): Promise<KeptHead | undefined>;
  /**
   * Whether the stored checkpoint differs from the one that `latest` returned last to this process. The store is checked at most once a
   * second; in between, the result is false. It is also false if the store cannot be read, so that logs with a seen head stay usable.
   */
  hasChanged(tenantId: string, log: LogName): boolean | Promise<boolean>;
  /** The code of the system error if a checkpoint could not be read or written. Undefined if the last use of every checkpoint succeeded. */
  readonly fault?: string | undefined;
  /**
   * Replaces the stored checkpoint, unless the stored one is larger. Resolves when the new one would survive a crash.
   * @param options.isRestoreAccepted replaces a larger one too, because the operator has accepted that its rows were abandoned.
   */
  write(
    tenantId: string,
    log: LogName,
    checkpoint: { size: number; note: string },
    options?: { isRestoreAccepted?: boolean | undefined },
  ): Promise<void>;
}

/** A head that this process has seen, or that a HeadStore has. Its root is computed on demand. */
export interface SeenHead {
  size: number;
  /** The concatenated hashes of its frontier. Undefined for a checkpoint of a HeadStore. */
  frontier?: Uint8Array;
  /**
   * How many of the next reads of the head also read the rows appended after this head. Above 0 only if another writer has appended to the
   * log recently.
   */
  sharedReads?: number;
  root: () => Uint8Array;
  /** A checkpoint in the HeadStore that covers more rows than this head. Another server has stored it. */
  later?: KeptHead | undefined;
}

/** What this process knows about the logs of one database. */
interface Memory {
  /** The last committed heads that this process has seen. */
  heads: Map<string, SeenHead>;
  /** Checkpoints in the HeadStore that covered more rows than the seen head when they were read. */
  later: Map<string, KeptHead>;
  /** Checkpoints in the HeadStore that a log contradicts (`refuseLog`). */
  contradicted: Map<string, SeenHead>;
  /** Logs whose head or events were not valid when they were last read. */
  refused: Set<string>;
  /** Logs whose last append failed because a row is stored after the sealed head. */
  blocked: Set<string>;
  /** Undefined if the heads are not stored outside the database. */
  store: HeadStore | undefined;
}

const memories = new WeakMap<Seals, Memory>();

function memoryOf(seals: Seals): Memory {
  let memory = memories.get(seals);
  if (memory === undefined) {
    const [heads, later, contradicted] = [new Map(), new Map(), new Map()];
    memory = { heads, later, contradicted, refused: new Set(), blocked: new Set(), store: undefined };
    memories.set(seals, memory);
  }
  return memory;
}

/** Sets the HeadStore for the logs of a pool's database. */
export function setHeadStore(pool: Pool, store: HeadStore | undefined): void {
  const seals = sealsOf(pool);
  if (seals === undefined) throw new Error('a pool without seals cannot have a head store');
  memoryOf(seals).store = store;
}

/** The HeadStore for the logs of a pool's database; undefined if none is set. */
export function headStoreOf(pool: Pool): HeadStore | undefined {
  const seals = sealsOf(pool);
  return seals === undefined ? undefined : memoryOf(seals).store;
}

/** The HeadStore for the logs of a transaction's database; undefined if none is set. */
export const headStore = (tx: Transaction): HeadStore | undefined => memoryOf(tx.seals).store;

/** Records whether a log's head, or its events, were valid when they were read. */
export const noteHeadState = (tx: Transaction, log: LogName, isValid: boolean): void =>
  updateFaultyLogs(memoryOf(tx.seals).refused, keyOf(tx, log), isValid);

/** Records whether the last append to a log succeeded, or failed because a row is stored after the sealed head. */
export const noteAppend = (tx: Transaction, log: LogName, hasSucceeded: boolean): void =>
  updateFaultyLogs(memoryOf(tx.seals).blocked, keyOf(tx, log), hasSucceeded);

function updateFaultyLogs(faulty: Set<string>, key: string, isValid: boolean): void {
  if (isValid) faulty.delete(key);
  else if (faulty.size < HEADS_MAX) faulty.add(key);
}

/**
 * The number of logs of a pool's database whose head or events were not valid when they were last read, or whose last append found a row
 * after the sealed head.
 */
export function countRefusedLogs(pool: Pool): number {
  const seals = sealsOf(pool);
  if (seals === undefined) return 0;
  const { refused, blocked } = memoryOf(seals);
  return blocked.size === 0 ? refused.size : new Set([...refused, ...blocked]).size;
}

/** The tenant of a log, and the seals of its database. */
type LogOwner = Pick<Transaction, 'seals' | 'tenantId'>;

/** The IDs of tenants of a pool's database whose logs this process has used. The process remembers at most HEADS_MAX logs. */
export function seenTenantIds(pool: Pool): Set<string> {
  const seals = sealsOf(pool);
  const keys = seals === undefined ? [] : [...memoryOf(seals).heads.keys()];
  return new Set(keys.map((key) => key.split(' ')[0]!));
}

const keyOf = ({ tenantId }: Pick<Transaction, 'tenantId'>, log: LogName): string => `${tenantId} ${log}`;

/**
 * For a log that contradicts a checkpoint in the HeadStore (`refuseLog`), this checkpoint. For any other log, the last committed head that
 * this process has seen, or if it has seen none, the checkpoint in the HeadStore. Undefined if there is neither. Call this function before
 * a statement that reads the head. Returns a promise only if it must check the HeadStore, so that other statements of the round trip are
 * not delayed.
 */
export function lastSeenHead(tx: Transaction, log: LogName): SeenHead | undefined | Promise<SeenHead | undefined> {
  const { contradicted, heads, store } = memoryOf(tx.seals);
  const contradictedHead = contradicted.get(keyOf(tx, log));
  if (contradictedHead !== undefined) return contradictedHead;
  if (store !== undefined && !heads.has(keyOf(tx, log)))
    return readStore(tx, log).then((head) => head && { size: head.size, root: () => head.root });
  const checking = checkStore(tx, log);
  return checking === undefined ? seenWithLater(tx, log) : checking.then(() => seenWithLater(tx, log));
}

function seenWithLater(owner: LogOwner, log: LogName): SeenHead | undefined {
  const seen = memoryOf(owner.seals).heads.get(keyOf(owner, log));
  const later = laterThan(owner, log, seen?.size ?? 0);
  return seen === undefined || later === undefined ? seen : { ...seen, later };
}

/** A known checkpoint of the HeadStore that covers more than `size` rows. */
function laterThan(owner: LogOwner, log: LogName, size: number): KeptHead | undefined {
  const { later } = memoryOf(owner.seals);
  const known = later.get(keyOf(owner, log));
  return known !== undefined && known.size > size ? known : undefined;
}

/**
 * Reads the checkpoint of a log in the HeadStore again if another server may have replaced it. The HeadStore is checked once a second.
 * Ignores a MemoryFolderError, but not a damaged checkpoint. Returns undefined if nothing is to be awaited.
 */
export function checkStore(owner: LogOwner, log: LogName): Promise<void> | undefined {
  const { store } = memoryOf(owner.seals);
  const changed = store?.hasChanged(owner.tenantId, log) ?? false;
  if (changed === false) return undefined;
  return (async () => {
    if (await changed) await readStore(owner, log).catch(ignoreMemoryFolderError);
  })();
}

function ignoreMemoryFolderError(error: unknown): void {
  if (!(error instanceof MemoryFolderError)) throw error;
}

/** Reads the checkpoint of a log in the HeadStore; undefined if there is none. Remembers it if it covers more rows than the seen head. */
export async function readStore(owner: LogOwner, log: LogName): Promise<KeptHead | undefined> {
  const { heads, later, store } = memoryOf(owner.seals);
  const stored = await store?.latest(owner.tenantId, log);
  const key = keyOf(owner, log);
  if (stored !== undefined && stored.size > (heads.get(key)?.size ?? 0)) later.set(key, stored);
  else later.delete(key);
  return stored;
}

/**
 * Whether the HeadStore has a checkpoint of a log that covers more than `size` rows, as of the last check (`checkStore`), or one that the
 * log contradicts (`refuseLog`).
 */
export function isBehindStore(owner: LogOwner, log: LogName, size: number): boolean {
  return laterThan(owner, log, size) !== undefined || memoryOf(owner.seals).contradicted.has(keyOf(owner, log));
}

/** Makes this process refuse a log that contradicts a checkpoint in the HeadStore, until its head continues this checkpoint. */
export function refuseLog(tx: Transaction, log: LogName, { size, root }: KeptHead): void {
  memoryOf(tx.seals).contradicted.set(keyOf(tx, log), { size, root: () => root });
  noteHeadState(tx, log, false);
}

/** Ends the refusal of a log whose head continues the checkpoint `seen`. Forgets the head that contradicted the checkpoint. */
export function endRefusal(tx: Transaction, log: LogName, seen: SeenHead | undefined): void {
  const { contradicted, heads } = memoryOf(tx.seals);
  if (seen === undefined || contradicted.get(keyOf(tx, log)) !== seen) return;
  contradicted.delete(keyOf(tx, log));
  heads.delete(keyOf(tx, log));
}

/**
 * The size of the last committed head of a log that this process, or another server, has seen; 0 if there is none. Does not check the
 * HeadStore.
 */
export function seenSize(owner: LogOwner, log: LogName): number {
  const size = memoryOf(owner.seals).heads.get(keyOf(owner, log))?.size ?? 0;
  return laterThan(owner, log, size)?.size ?? size;
}

/**
 * Remembers a committed head, unless a later head is remembered already.
 * @param sharedReads the new `sharedReads` of the SeenHead; undefined to keep the old value.
 */
export function rememberSeen(tx: Transaction, log: LogName, tree: StoredTree, sharedReads?: number): void {
  const known = memoryOf(tx.seals).heads.get(keyOf(tx, log));
  if ((known?.size ?? -1) <= tree.size) setHead(tx, log, tree, sharedReads ?? known?.sharedReads);
}

/** Remembers a head regardless of earlier ones. Other files call it only when the operator accepts a restore. */
export function acceptHead(tx: Transaction, log: LogName, tree: StoredTree): void {
  const { contradicted, later } = memoryOf(tx.seals);
  for (const checkpoints of [contradicted, later]) checkpoints.delete(keyOf(tx, log));
  setHead(tx, log, tree);
}

function setHead(tx: Transaction, log: LogName, { size, frontier }: StoredTree, sharedReads = 0): void {
  const { heads, later } = memoryOf(tx.seals);
  const key = keyOf(tx, log);
  heads.delete(key);
  heads.set(key, { size, frontier, sharedReads, root: () => openFrontier({ size, frontier }).root() });
  if (heads.size <= HEADS_MAX) return;
  const oldest = heads.keys().next().value!;
  heads.delete(oldest);
  later.delete(oldest);
}

/** The `sharedReads` of a log to which another writer has just appended. */
const SHARED_READS = 8;

/** Whether another writer has appended to a log of the tenant within the last SHARED_READS reads of its head. */
export const isShared = (tx: Transaction, log: LogName): boolean =>
  (memoryOf(tx.seals).heads.get(keyOf(tx, log))?.sharedReads ?? 0) > 0;

/** The `sharedReads` of a log after its head was read with this tree. */
export function nextSharedReads(seen: SeenHead | undefined, { size }: StoredTree): number {
  if (seen === undefined) return 0;
  return size > seen.size ? SHARED_READS : Math.max(0, (seen.sharedReads ?? 0) - 1);
}

/**
 * Reads the leaf data of the rows appended since a head was seen, at most GROWTH_MAX rows. Undefined if the head has no frontier, or if no
 * other writer has appended recently (`sharedReads`). Call it right after sending the statement that reads the head, so that both
 * statements take one round trip.
 */
export function readGrowth(tx: Transaction, log: LogName, seen: SeenHead | undefined): Promise<Buffer> | undefined {
  if (seen?.frontier === undefined || (seen.sharedReads ?? 0) === 0) return undefined;
  return ignoreRejection(readLeafData(tx, log, seen.size, seen.size + GROWTH_MAX));
}

/**
 * Why a head does not continue the log that this process has seen; undefined if it does. A seal shows that the server has written a head,
 * but not that it is the newest one. This comparison detects an older state of the database, restored with its seals.
 * @param growth the result of `readGrowth`.
 */
export async function findContinuityFault(
  tx: Transaction,
  log: LogName,
  seen: SeenHead | undefined,
  tree: StoredTree,
  growth?: Promise<Buffer>,
): Promise<string | undefined> {
  if (seen === undefined) return undefined;
  const newest = seen.later ?? seen;
  if (newest.size === 0) return undefined;
  if (tree.size < newest.size)
    return (
      `it has ${tree.size} rows, and had ${newest.size}: an older state was restored ` +
      '(if you restored it, or a replica took over, see `ledger accept-restore --help`)'
    );
  // Equal frontiers have equal roots. Nearly every batch finds the head unchanged, and computing a root takes about 15 hashes.
  const isUnchanged = tree.size === seen.size && seen.frontier !== undefined && sameBytes(tree.frontier, seen.frontier);
  if (isUnchanged || (await hasGrownInto(tx, log, seen, tree, growth))) return undefined;
  const current = { size: tree.size, root: openFrontier(tree).root() };
  const known = [{ size: seen.size, root: seen.root() }, ...(seen.later === undefined ? [] : [seen.later])];
  for (const head of known)
    if (head.size > 0 && !(await isExtension(tx, log, head, current))) return discontinuityFault(head.size);
  return undefined;
}

const discontinuityFault = (size: number): string =>
  `it does not continue the ${size} rows known before: an older state was restored, and other rows were appended, ` +
  'or stored rows were changed';

/**
 * The largest number of rows by which a known tree is extended. After more rows, the roots are computed from the stored nodes instead,
 * which reads about 500 hashes for a root.
 */
const GROWTH_MAX = 256;

/**
 * Whether the known tree, extended by the rows appended after it, is the tree of the head, and has the root of `later` at the size of
 * `later`. This comparison takes one statement and, for the usual batch, a tenth of the hashes of `isExtension`.
 */
async function hasGrownInto(
  tx: Transaction,
  log: LogName,
  { size, frontier, later }: SeenHead,
  tree: StoredTree,
  growth: Promise<Buffer> | undefined,
): Promise<boolean> {
  const rows = tree.size - size;
  if (frontier === undefined || rows === 0 || rows > GROWTH_MAX) return false;
  const appendedHashes = hashesIn(await (growth ?? readLeafData(tx, log, size, tree.size))).slice(0, rows);
  const coveredRows = later === undefined ? 0 : later.size - size;
  const treeAtLater = growTree({ size, frontier }, appendedHashes.slice(0, coveredRows));
  if (later !== undefined && !sameBytes(treeAtLater.root(), later.root)) return false;
  const grownTree = growTree(treeAtLater, appendedHashes.slice(coveredRows));
  return grownTree.size === tree.size && sameBytes(grownTree.frontier, tree.frontier);
}
