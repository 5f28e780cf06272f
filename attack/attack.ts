import type { Target } from './target.ts';

/** Limits on the latencies of the other senders and on the memory of the server during an attack. An absent limit does not apply. */
export interface Bounds {
  victimP99Ms?: number;
  victimSlowestMs?: number;
  memoryMiB?: number;
}

/** Options of an attack. */
export interface AttackOptions {
  /** The duration. Some attacks take longer (options.ts). */
  seconds: number;
  /** Seed of the fuzzed requests. The same seed makes the same requests. */
  seed: number;
  /** The number of fuzzed requests, instead of a duration. Undefined: as many as the seconds allow. */
  requests: number | undefined;
}

/** What an attack observed. */
export interface AttackResult {
  /** The number of rejected requests and refused connections. Some attacks also count other errors and requests without a response. */
  rejected: number;
  /** A short summary for the table. */
  note: string;
  /** Violations of promises other than the bounds. */
  violations: string[];
}

/** One way to harm a server or its senders. */
export interface Attack {
  /** A short description for the table. */
  description: string;
  bounds: Bounds;
  /** A promise other than the bounds, in words. */
  promise?: string;
  /** Additional environment variables of the attacked server. */
  settings?: Record<string, string>;
  /** Creates what the attack needs, before the measurement starts. */
  prepare?: (target: Target) => Promise<void>;
  /** Runs the attack while the other senders write. Rejects if the attack cannot run. */
  run(target: Target, options: AttackOptions): Promise<AttackResult>;
}

/**
 * A percentile of the values; 0 if there are none.
 * @param share from 0 to 1: 0.99 gives the 99th percentile, and 1 the maximum.
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
