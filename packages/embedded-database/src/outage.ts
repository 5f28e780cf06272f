import { EmbeddedDatabaseError } from './embedded-database-error.ts';
import { lastLines } from './log-file.ts';

/** A PostgreSQL that ends sooner than this after its start has failed to start, whatever it said. */
const quickFailureMs = 10_000;

/** The pauses after failures in a row. */
const pausesMs = [50, 200, 1_000];

/** The pause after that. Short, because the cause, such as a full disk, may be gone at any moment. */
const longestPauseMs = 1_000;

/** How often an outage that lasts is reported. */
const reportEveryMs = 60_000;

/**
 * The failures in a row of one keeper's PostgreSQL. A PostgreSQL that never took connections is given up after a few: its settings or
 * its files are at fault. One that did is started again without end: the cause is outside, and goes away by itself or by hand.
 */
export class Outage {
  /** Whether PostgreSQL has taken connections before, so that it may again. */
  mayEnd = false;
  #failures = 0;
  #reportAt = 0;
  readonly #logFile: string;

  constructor(logFile: string) {
    this.#logFile = logFile;
  }

  /** Whether the quick tries are used up. */
  get isLong(): boolean {
    return this.#failures > pausesMs.length;
  }

  /**
   * Counts a failure. Answers the pause before the next try, and what to report, if anything.
   * @throws EmbeddedDatabaseError when there is no hope in trying again.
   */
  failed(how: string, startedAt: number): { pauseMs: number; report: string | undefined } {
    this.#failures = Date.now() - startedAt < quickFailureMs ? this.#failures + 1 : 1;
    const pauseMs = pausesMs[this.#failures - 1];
    if (pauseMs !== undefined) return { pauseMs, report: `PostgreSQL has ended (${how}): starting it again in ${pauseMs} ms` };
    if (!this.mayEnd) throw new EmbeddedDatabaseError('start_failed', this.message(how));
    if (Date.now() < this.#reportAt) return { pauseMs: longestPauseMs, report: undefined };
    this.#reportAt = Date.now() + reportEveryMs;
    return { pauseMs: longestPauseMs, report: `${this.message(how)}\ntrying again every ${longestPauseMs} ms` };
  }

  /** PostgreSQL was stopped in order. */
  over(): void {
    this.#failures = 0;
  }

  /** What a person reads: how it ended, and what PostgreSQL said. */
  message(how: string): string {
    return `PostgreSQL does not stay up (${how}); the end of ${this.#logFile}:\n${lastLines(this.#logFile, 5)}`;
  }
}
