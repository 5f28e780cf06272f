import type { Pool } from 'pg';

/** What has been tried about one subject in the running window, this try counted. */
export interface Attempts {
  subject: Buffer;
  attempts: number;
  /** Seconds until the window ends, at least 1. */
  secondsLeft: number;
}

/**
 * Counts one try against each subject and returns the counts. In one statement, rows in the order of their subjects: tries at once, on
 * however many servers, are all counted, and do not wait for each other in a circle. Given once each.
 */
export async function countAttempts(pool: Pool, subjects: readonly Buffer[], windowSeconds: number): Promise<Attempts[]> {
  const ended = `kept.window_began_at <= clock_timestamp() - make_interval(secs => $2)`;
  const { rows } = await pool.query<Attempts>({
    name: 'count_attempts',
    text: `INSERT INTO countersign.sign_in_attempts AS kept (subject)
           SELECT subject FROM unnest($1::bytea[]) AS subject ORDER BY subject
               ON CONFLICT (subject) DO UPDATE SET
                  attempts = CASE WHEN ${ended} THEN 1 ELSE kept.attempts + 1 END,
                  window_began_at = CASE WHEN ${ended} THEN clock_timestamp() ELSE kept.window_began_at END
        RETURNING subject, attempts,
                  greatest(1, ceil($2 - extract(epoch FROM clock_timestamp() - window_began_at)))::int AS "secondsLeft"`,
    values: [subjects, windowSeconds],
  });
  return rows;
}

/** Takes one try back from each subject: it was a good one. */
export const takeBackAttempt = (pool: Pool, subjects: readonly Buffer[]): Promise<unknown> =>
  pool.query({
    name: 'take_back_attempt',
    text: `UPDATE countersign.sign_in_attempts SET attempts = attempts - 1
            WHERE attempts > 0 AND subject IN (SELECT subject FROM countersign.sign_in_attempts WHERE subject = ANY ($1::bytea[]) ORDER BY subject FOR UPDATE)`,
    values: [subjects],
  });

/** Forgets tries whose window has long ended. */
export const deletePastAttempts = (pool: Pool): Promise<unknown> =>
  pool.query(`DELETE FROM countersign.sign_in_attempts WHERE window_began_at < clock_timestamp() - interval '1 day'`);
