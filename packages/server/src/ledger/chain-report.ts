import type { ChainVerifier } from '@countersign/core/domain/chain-verifier';

/** Deepest nesting of a row that is looked at. What the service accepts is nested at most half as deep. */
export const NESTING_MAX = 200;

/** The first thing that is wrong with a chain. */
export interface FirstBad {
  /** Number of the row: the one that should stand there. */
  seq: number;
  reason: string;
}

/** What a walk along a chain found. */
export interface ChainReport {
  /** Undefined for an empty export, which does not say whose it is. */
  tenantId: string | undefined;
  /** Rows that are whole, from the first on. */
  entries: number;
  /** row_hash of the last of them; null without rows. */
  head: string | null;
  /** Undefined when the chain is whole. */
  firstBad: FirstBad | undefined;
}

/** What a verifier has found so far, and what ended its walk. */
export const reportOf = ({ tenantId, head }: ChainVerifier, firstBad?: FirstBad): ChainReport => ({
  tenantId,
  entries: head.seq,
  head: head.rowHash,
  firstBad,
});
