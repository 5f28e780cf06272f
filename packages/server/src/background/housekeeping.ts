import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { deleteExpiredResponses } from '../storage/idempotency.ts';
import { deleteWaitingLogRecords, joinRecordsOfStoredTraces } from '../storage/log-records.ts';
import { deleteExpiredLinks } from '../storage/one-time-links.ts';
import { deleteExpiredSessions } from '../storage/sessions.ts';
import { deletePastAttempts } from '../storage/sign-in-attempts.ts';
import { fillSkeletons } from '../storage/similar-agents.ts';
import { listTenantIds } from '../storage/tenants.ts';
import type { RunIdMerging } from './run-id-merging.ts';

/** The interval between the starts of two rounds. */
const ROUND_MS = 10 * 60_000;

/**
 * Every ten minutes, unless the previous round is still running: merges small segments of run IDs, joins log records to traces that were
 * stored after them, and deletes what has expired. It also computes the missing skeletons of agent names, for the first time at the start.
 * Each session and each link has its own expiry time. Sign-in attempts, responses to idempotent requests, and log records whose trace did
 * not arrive are deleted after 24 hours. A failed step does not stop the others and is tried again the next time. While the clock is
 * unsafe, nothing is joined or deleted.
 */
export function startHousekeeping(
  { ledgerPool, clock }: Pick<Pools, 'ledgerPool' | 'clock'>,
  runIds: Pick<RunIdMerging, 'merge'>,
  log: Logger,
): { stop(): void } {
  let isStopped = false;
  let isRunning = false;
  const attempt = async (what: string, work: () => Promise<unknown>) => {
    if (isStopped) return;
    await work().catch((error: Error) => {
      if (!isStopped) log.warn({ reason: error.message, what }, 'housekeeping failed; it is tried again in ten minutes');
    });
  };
  const joinAndDeleteRecords = async () => {
    for (const id of await listTenantIds(ledgerPool)) {
      if (isStopped || clock.fault() !== undefined) return;
      await attempt(`log records of ${id}`, () => inTenantTransaction(ledgerPool, id, joinRecordsOfStoredTraces));
      await attempt(`stored responses and waiting log records of ${id}`, () => deleteExpiredOf(ledgerPool, id));
    }
  };
  const addSkeletons = async () => {
    for (const id of await listTenantIds(ledgerPool))
      while (!isStopped && (await inTenantTransaction(ledgerPool, id, fillSkeletons)) > 0);
  };
  const mergeRunIds = async () => {
    for (const id of await listTenantIds(ledgerPool)) if (!isStopped) await runIds.merge(id);
  };
  const addMissingSkeletons = () =>
    addSkeletons().catch((error: Error) => {
      if (!isStopped)
        log.warn(
          { reason: error.message },
          'agent names were not prepared for the search for similar names; it is tried again in ten minutes',
        );
    });
  const round = async () => {
    await addMissingSkeletons();
    await attempt('small segments of run IDs', mergeRunIds);
    if (clock.fault() !== undefined) return;
    await attempt('sessions', () => deleteExpiredSessions(ledgerPool));
    await attempt('links', () => deleteExpiredLinks(ledgerPool));
    await attempt('sign-in attempts', () => deletePastAttempts(ledgerPool));
    await attempt('records', joinAndDeleteRecords);
  };
  const startRound = async () => {
    if (isRunning) return;
    isRunning = true;
    await round().finally(() => {
      isRunning = false;
    });
  };
  void addMissingSkeletons();
  const timer = setInterval(() => void startRound(), ROUND_MS).unref();
  const stop = () => {
    isStopped = true;
    clearInterval(timer);
  };
  return { stop };
}

async function deleteExpiredOf(pool: Pool, tenantId: string): Promise<void> {
  while ((await inTenantTransaction(pool, tenantId, deleteExpiredResponses)) > 0);
  while ((await inTenantTransaction(pool, tenantId, deleteWaitingLogRecords)) > 0);
}
