import type { Target } from './target.ts';

/** What must hold of a server and its other senders while it is attacked. Left out: not promised of this attack. */
export interface Bounds {
  victimP99Ms?: number;
  victimSlowestMs?: number;
  memoryMiB?: number;
}

/** What an attack itself has seen. */
export interface Seen {
  /** Requests and connections that were refused. */
  refused: number;
  /** In a few words, for the table. */
  note: string;
  /** What did not hold, besides the bounds. */
  broken: string[];
}

/** One way to hurt a server or its senders. */
export interface Attack {
  /** What is done, for the table. */
  what: string;
  bounds: Bounds;
  /** What is promised besides the bounds, in words. */
  promise?: string;
  /** Settings of the attacked server. */
  settings?: Record<string, string>;
  /** Makes what the attack needs, before it is measured. */
  prepare?: (target: Target) => Promise<void>;
  run(target: Target, how: { seconds: number; seed: number }): Promise<Seen>;
}

/** Percentile of latencies; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
