import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { deleteExpiredAnswers } from '../storage/idempotency.ts';
import { deleteWaitingLogRecords } from '../storage/log-records.ts';
import { deleteExpiredLinks } from '../storage/one-time-links.ts';
import { deleteExpiredSessions } from '../storage/sessions.ts';
import { deletePastAttempts } from '../storage/sign-in-attempts.ts';
import { fillSkeletons } from '../storage/similar-agents.ts';
import { listTenantIds } from '../storage/tenants.ts';
import type { RunIdMerging } from './run-id-merging.ts';

const PAUSE_MS = 10 * 60_000;

/**
 * Forgets what is over, every ten minutes: sessions, links and tries, and answers older than 24 hours, tenant by tenant. What fails waits
 * for the next time, and keeps nothing else waiting. While the clocks are unsafe nothing is deleted. At the start and every ten minutes it
 * makes the skeletons of agent names that have none. Every ten minutes it merges small segments of run ids.
 */
export function startHousekeeping(
  { ledgerPool, clock }: Pick<Pools, 'ledgerPool' | 'clock'>,
  runIds: Pick<RunIdMerging, 'merge'>,
  log: Logger,
): { stop(): void } {
  const forget = (what: string, forgetting: Promise<unknown>) =>
    forgetting.catch((error: Error) => log.warn({ reason: error.message, what }, 'what has expired was not forgotten this time'));
  const forgetAnswers = async () => {
    for (const id of await listTenantIds(ledgerPool)) await forget(`answers of ${id}`, forgetAnswersOf(ledgerPool, id));
  };
  let stopped = false;
  const fill = async () => {
    for (const id of await listTenantIds(ledgerPool))
      while (!stopped && (await inTenantTransaction(ledgerPool, id, fillSkeletons)) > 0);
  };
  const mergeRunIds = async () => {
    for (const id of await listTenantIds(ledgerPool)) if (!stopped) await runIds.merge(id);
  };
  const fillNow = () =>
    fill().catch((error: Error) => {
      if (!stopped) log.warn({ reason: error.message }, 'not all agent names have their skeleton yet');
    });
  const sweep = async () => {
    await fillNow();
    await forget('small segments of run ids', mergeRunIds());
    if (clock.fault() !== undefined) return;
    await forget('sessions', deleteExpiredSessions(ledgerPool));
    await forget('links', deleteExpiredLinks(ledgerPool));
    await forget('tries to sign in', deletePastAttempts(ledgerPool));
    await forget('answers', forgetAnswers());
  };
  void fillNow();
  const timer = setInterval(() => void sweep(), PAUSE_MS).unref();
  const stop = () => {
    stopped = true;
    clearInterval(timer);
  };
  return { stop };
}

async function forgetAnswersOf(pool: Pool, tenantId: string): Promise<void> {
  while ((await inTenantTransaction(pool, tenantId, deleteExpiredAnswers)) > 0);
  while ((await inTenantTransaction(pool, tenantId, deleteWaitingLogRecords)) > 0);
}
