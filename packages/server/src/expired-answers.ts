import type { Logger } from 'pino';
import { inTenantTransaction } from './database/transaction.ts';
import type { OpenDatabase } from './open-database.ts';
import { deleteExpiredAnswers } from './storage/idempotency.ts';
import { listTenants } from './storage/tenants.ts';

const PAUSE_MS = 10 * 60_000;

/** Forgets answers older than 24 hours, tenant by tenant, every ten minutes. A failure waits for the next time. */
export function forgetExpiredAnswers({ lookupPool }: OpenDatabase, log: Logger): { stop(): void } {
  const sweep = async () => {
    for (const { id } of await listTenants(lookupPool)) {
      while ((await inTenantTransaction(lookupPool, id, deleteExpiredAnswers)) > 0);
    }
  };
  const timer = setInterval(() => {
    sweep().catch((error: Error) => log.warn({ reason: error.message }, 'expired answers were not forgotten this time'));
  }, PAUSE_MS).unref();
  return { stop: () => clearInterval(timer) };
}
