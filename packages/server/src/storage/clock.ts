import type { Pool } from 'pg';
import { sql, type Transaction } from '../database/transaction.ts';
import { instantText } from './instant-text.ts';

const TEXT = `SELECT ${instantText('clock_timestamp()')} AS now`;
const READ = sql<{ now: string }>('read_clock', TEXT);

/** The time of the database's clock, ISO 8601 in UTC with milliseconds. */
export const readClock = async (tx: Transaction): Promise<string> => (await tx.run(READ, []))[0]!.now;

/** Like `readClock`, outside a transaction. */
export async function readClockOf(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ now: string }>({ name: 'read_clock', text: TEXT });
  return rows[0]!.now;
}
