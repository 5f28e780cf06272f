import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { expiryClock, isAhead } from './expiry-clock.ts';

/** The attempts of one subject in its current window of time. */
export interface Attempts {
  /** Including the one just counted; at most the limit plus one. */
  attempts: number;
  /** Seconds until the window ends, at least 1. */
  secondsLeft: number;
}

/**
 * Counts an attempt of a subject. One statement reads and writes the count, so that concurrent attempts on all servers are counted. A
 * window that began while a clock was ahead counts as ended.
 * @param subject the SHA-256 that stands for an account or for a client's network (people/sign-in-limit.ts).
 * @param limit attempts above it are rejected. Only the first of them increases the count: a successful sign-in subtracts only one attempt,
 * and could not make up for many rejected ones.
 */
export async function countAttempt(
  pool: Pool,
  subject: Buffer,
  { limit, windowSeconds }: { limit: number; windowSeconds: number },
): Promise<Attempts> {
  const now = expiryClock(4);
  const ended = `(kept.window_began_at <= ${now} - make_interval(secs => $3) OR ${isAhead('kept.window_began_at', 4)})`;
  const { rows } = await pool.query<Attempts>({
    name: 'count_attempt',
    text: `INSERT INTO countersign.sign_in_attempts AS kept (subject, window_began_at) VALUES ($1, ${now})
               ON CONFLICT (subject) DO UPDATE SET
                  attempts = CASE WHEN ${ended} THEN 1 ELSE least(kept.attempts, $2) + 1 END,
                  window_began_at = CASE WHEN ${ended} THEN ${now} ELSE kept.window_began_at END
        RETURNING attempts, greatest(1, ceil($3 - extract(epoch FROM ${now} - window_began_at)))::int AS "secondsLeft"`,
    values: [subject, limit, windowSeconds, ...clockOf(pool).expiryBounds()],
  });
  return rows[0]!;
}

/** Subtracts one attempt from the count of each subject, after a successful sign-in or if the password was not checked. */
export const takeBackAttempt = (pool: Pool, subjects: readonly Buffer[]): Promise<unknown> =>
  pool.query({
    name: 'take_back_attempt',
    text: `UPDATE countersign.sign_in_attempts SET attempts = attempts - 1
            WHERE attempts > 0 AND subject IN (SELECT subject FROM countersign.sign_in_attempts WHERE subject = ANY ($1::bytea[]) ORDER BY subject FOR UPDATE)`,
    values: [subjects],
  });

/** Deletes the counts of windows that began more than a day ago, or while a clock was ahead. */
export const deletePastAttempts = (pool: Pool): Promise<unknown> =>
  pool.query(
    `DELETE FROM countersign.sign_in_attempts
      WHERE window_began_at < ${expiryClock(1)} - interval '1 day' OR ${isAhead('window_began_at', 1)}`,
    [...clockOf(pool).expiryBounds()],
  );
