import { type AcceptedRestore, restoreRemark } from './accepted-restore.ts';
import type { Contradiction } from './chain-report.ts';
import { originOf, type TreeLog } from './checkpoint.ts';
import { Frontier, type Sha256, type TreeNode } from './merkle-tree.ts';
import { sameBytes, toBase64 } from './signed-note.ts';

/** A tree head to compare the rows with: from a checkpoint or a header that the reader kept, or from the database. */
export interface KeptHead {
  /** Where the head comes from, for messages. */
  source: string;
  /** Names the tenant and the log. Undefined for an unsigned head, which names no tenant. */
  origin?: string | undefined;
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** Builds the tree of a log while its rows are read, and compares it with every kept head of the same size. */
export class TreeVerifier {
  readonly #tree: Frontier;
  /** The heads that are larger than the tree so far, smallest first. */
  #pending: KeptHead[] = [];
  /** The origins of the signed heads, by source. */
  readonly #signedOrigins = new Map<string, string>();
  #largestMatching: KeptHead | undefined;
  #firstContradiction: Contradiction | undefined;
  /** The head that the first contradiction is about, if any. */
  #contradictingHead: KeptHead | undefined;

  constructor(sha256: Sha256, heads: readonly KeptHead[] = []) {
    this.#tree = new Frontier(sha256);
    this.add(heads);
    for (const { source, origin } of heads) if (origin !== undefined) this.#signedOrigins.set(source, origin);
    this.#firstContradiction ??= forkIn(heads);
  }

  /** The number of rows so far. */
  get size(): number {
    return this.#tree.size;
  }

  /** Adds heads without checking their origins. None of them may be smaller than the tree so far. */
  add(heads: readonly KeptHead[]): void {
    this.#pending = [...this.#pending, ...heads].sort((one, other) => one.size - other.size);
    this.#compare();
  }

  /** Appends the leaf data of the next row. @param onNodeCompleted is called for each inner node that the new leaf completes. */
  append(leafData: Uint8Array, onNodeCompleted?: (node: TreeNode) => void): void {
    this.#tree.append(leafData, onNodeCompleted);
    this.#compare();
  }

  /** Records a contradiction. Only the first one is reported. @param head the head that it is about; undefined if there is none. */
  contradict(contradiction: Contradiction, head?: KeptHead): void {
    if (this.#firstContradiction === undefined) this.#contradictingHead = head;
    this.#firstContradiction ??= contradiction;
  }

  /**
   * Returns the contradiction to report; undefined if there is none. Call it after the last row.
   * @param tenantId the tenant of the rows; undefined if they name none. Then the first checkpoint of a log of this kind determines it.
   * @param restores the accepted restores in the audit ledger, which can explain a head that does not match.
   */
  end(log: TreeLog, tenantId: string | undefined, restores: readonly AcceptedRestore[] = []): Contradiction | undefined {
    const otherLog = this.#otherLogContradiction(log, tenantId);
    if (otherLog !== undefined) return otherLog;
    const head = this.#firstContradiction === undefined ? this.#pending.at(-1) : this.#contradictingHead;
    const contradiction = this.#firstContradiction ?? this.#truncation();
    if (contradiction === undefined || head === undefined) return contradiction;
    return { ...contradiction, reason: contradiction.reason + restoreRemark(head, log, restores) };
  }

  #compare(): void {
    const size = this.#tree.size;
    let head = this.#pending[0];
    if (head?.size !== size) return;
    const root = this.#tree.root();
    let matching: KeptHead | undefined;
    for (; head?.size === size; head = this.#pending[0]) {
      this.#pending.shift();
      if (sameBytes(root, head.root)) matching = head;
      else this.contradict({ source: head.source, size, reason: this.#mismatchReason(head, root) }, head);
    }
    this.#largestMatching = matching ?? this.#largestMatching;
  }

  #mismatchReason({ size, root: keptRoot }: KeptHead, root: Uint8Array): string {
    const matching = this.#largestMatching;
    const intact =
      matching === undefined || matching.size === 0 ? '' : `; the first ${matching.size} rows match ${matching.source}`;
    return (
      `the first ${size} rows make the root ${toBase64(root)}, but this head has the root ${toBase64(keptRoot)}: ` +
      `the log was rewritten, or this head belongs to another log${intact}`
    );
  }

  /** The contradiction if a head is larger than the tree; undefined otherwise. */
  #truncation(): Contradiction | undefined {
    const head = this.#pending.at(-1);
    if (head === undefined) return undefined;
    const reason =
      `it covers ${head.size} rows, but the log ends after ${this.size}: ` +
      'its tail was cut off, or this is an older state of the log';
    return { source: head.source, size: head.size, reason };
  }

  /** The contradiction if a signed head belongs to another log; undefined otherwise. */
  #otherLogContradiction(log: TreeLog, tenantId: string | undefined): Contradiction | undefined {
    const kind = log === 'audit' ? /^countersign\/[^/]+$/ : new RegExp(`^countersign/[^/]+/${log}$`);
    const origins = [...this.#signedOrigins.values()];
    const ownOrigin = tenantId === undefined ? origins.find((origin) => kind.test(origin)) : originOf(tenantId, log);
    for (const [source, origin] of this.#signedOrigins) {
      if (origin === ownOrigin) continue;
      const reason = `the checkpoint belongs to ${JSON.stringify(origin)}, but this log is ${ownOrigin ?? `of the kind ${log}`}`;
      return { source, size: 0, reason };
    }
    return undefined;
  }
}

/** The contradiction between two heads with the same origin and size, but different roots. It proves a fork if both are signed. */
function forkIn(heads: readonly KeptHead[]): Contradiction | undefined {
  for (const [index, { source, origin, size, root }] of heads.entries()) {
    const otherHead = heads
      .slice(0, index)
      .find((earlier) => earlier.origin === origin && earlier.size === size && !sameBytes(earlier.root, root));
    if (otherHead !== undefined) {
      const ending =
        origin === undefined ? ', or these heads belong to different logs' : '; both are signed, keep them as evidence';
      return {
        source,
        size,
        reason: `it and ${otherHead.source} have the same size but different roots: the log was forked${ending}`,
      };
    }
  }
  return undefined;
}
