import type { Logger } from 'pino';
import { inTenantTransaction } from './database/transaction.ts';
import type { OpenDatabase } from './open-database.ts';
import { deleteExpiredAnswers } from './storage/idempotency.ts';
import { deleteExpiredLinks } from './storage/one-time-links.ts';
import { deleteExpiredSessions } from './storage/sessions.ts';
import { deletePastAttempts } from './storage/sign-in-attempts.ts';
import { listTenants } from './storage/tenants.ts';

const PAUSE_MS = 10 * 60_000;

/** Forgets what is over, every ten minutes: answers older than 24 hours, tenant by tenant, then sessions, links and tries. A failure waits for the next time. */
export function keepHouse({ ledgerPool }: OpenDatabase, log: Logger): { stop(): void } {
  const sweep = async () => {
    for (const { id } of await listTenants(ledgerPool)) {
      while ((await inTenantTransaction(ledgerPool, id, deleteExpiredAnswers)) > 0);
    }
    await deleteExpiredSessions(ledgerPool);
    await deleteExpiredLinks(ledgerPool);
    await deletePastAttempts(ledgerPool);
  };
  const timer = setInterval(() => {
    sweep().catch((error: Error) => log.warn({ reason: error.message }, 'what has expired was not forgotten this time'));
  }, PAUSE_MS).unref();
  return { stop: () => clearInterval(timer) };
}
