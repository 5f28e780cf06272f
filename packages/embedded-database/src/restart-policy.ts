import { EmbeddedDatabaseError } from './embedded-database-error.ts';
import { lastLines } from './log-file.ts';

/** If PostgreSQL accepted connections and ran for this time, it has worked. The next failure is then the first in a row. */
const minimumWorkMs = 10_000;

/** The pauses after the first failures in a row. */
const pausesMs = [50, 200, 1_000];

/** The pause after further failures in a row. It is short, because the cause, such as a full disk, may end at any time. */
const longestPauseMs = 1_000;

/** How often a continuing outage is reported. */
const reportEveryMs = 60_000;

/**
 * Decides when a keeper restarts its PostgreSQL. If PostgreSQL never accepted connections, the keeper gives up at the fourth failure in a
 * row, because settings or files are probably wrong. Otherwise it restarts PostgreSQL without limit, because the cause is probably external
 * and may end at any time.
 */
export class RestartPolicy {
  #hasBeenReady = false;
  /** Whether the current PostgreSQL has accepted connections. */
  #isReady = false;
  #failures = 0;
  #reportAt = 0;
  readonly #logFile: string;

  constructor(logFile: string) {
    this.#logFile = logFile;
  }

  /** Whether PostgreSQL has accepted connections since the keeper started. */
  get hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /** Records that PostgreSQL accepts connections. */
  recordReady(): void {
    this.#hasBeenReady = true;
    this.#isReady = true;
  }

  /** Whether there were more failures in a row than `pausesMs` has pauses. New clients then receive the failure. */
  get isProlonged(): boolean {
    return this.#failures > pausesMs.length;
  }

  /**
   * Counts a failure. Returns the pause before the next start, and the line to report, if any.
   * @param ending how PostgreSQL ended
   * @param startedAt when it was started, in milliseconds since 1970
   * @throws EmbeddedDatabaseError if the keeper must give up
   */
  recordFailure(ending: string, startedAt: number): { pauseMs: number; report: string | undefined } {
    const hasWorked = this.#isReady && Date.now() - startedAt >= minimumWorkMs;
    this.#isReady = false;
    this.#failures = hasWorked ? 1 : this.#failures + 1;
    const pauseMs = pausesMs[this.#failures - 1];
    if (pauseMs !== undefined) return { pauseMs, report: `PostgreSQL has ended (${ending}): starting it again in ${pauseMs} ms` };
    if (!this.hasBeenReady) throw new EmbeddedDatabaseError('start_failed', this.describe(ending));
    if (Date.now() < this.#reportAt) return { pauseMs: longestPauseMs, report: undefined };
    this.#reportAt = Date.now() + reportEveryMs;
    return { pauseMs: longestPauseMs, report: `${this.describe(ending)}\ntrying again every ${longestPauseMs} ms` };
  }

  /** Sets the number of failures to zero, after a clean stop. */
  reset(): void {
    this.#isReady = false;
    this.#failures = 0;
  }

  /** The message for people: how PostgreSQL ended, and the end of its log. */
  describe(ending: string): string {
    return `PostgreSQL does not stay up (${ending}); the end of ${this.#logFile}:\n${lastLines(this.#logFile, 5)}`;
  }
}
