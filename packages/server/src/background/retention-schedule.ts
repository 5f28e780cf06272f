import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { DatabaseAddress } from '../database/driver-address.ts';
import { type Pools, runAsOwner } from '../database/pools.ts';
import { type DropOptions, type DroppedRecords, dropDueRecords } from '../retention/drop-due-records.ts';
import { MayNotDropError } from '../retention/may-not-drop-error.ts';
import { listTenantIds } from '../storage/tenants.ts';

/** The pause before the first round, so that a server that restarts in a loop deletes nothing. */
const FIRST_PAUSE_MS = 10 * 60_000;
const PAUSE_MS = 24 * 3_600_000;

/** After each batch, retention pauses for this many times the duration of the batch. */
const PAUSE_FACTOR = 2;

const MAY_NOT_DROP =
  'records whose retention period is over were not dropped: the role of this server may not delete them; run `countersign-server retention run` daily as the owner of the tables, or set COUNTERSIGN_MIGRATE_DATABASE_URL for the server too (docs/operating.md)';

/** Drops due records while the server runs. */
export interface RetentionSchedule {
  /** Drops the due records of every workspace. @param now replaces the time of the database's clock, which decides what is due. */
  round(now?: string): Promise<void>;
  stop(): void;
}

/**
 * Every day, drops the records whose retention period is over, in every workspace, as the role that owns the tables. A failure in one
 * workspace is logged and does not stop the others.
 */
export function startRetention(database: Pick<Pools, 'ledgerPool'> & { owner: DatabaseAddress }, log: Logger): RetentionSchedule {
  const stopping = new AbortController();
  const { signal } = stopping;
  const round = async (now?: string) => {
    try {
      await runAsOwner(database, async (pool) => {
        for (const tenantId of await listTenantIds(pool))
          if (!signal.aborted) await dropInWorkspace(pool, tenantId, { signal, ...(now === undefined ? {} : { now }) }, log);
      });
    } catch (error) {
      if (!signal.aborted) log.warn({ reason: (error as Error).message }, 'retention did not run this time');
    }
  };
  void repeat(round, signal);
  return { round, stop: () => stopping.abort() };
}

async function dropInWorkspace(
  pool: Pool,
  tenantId: string,
  options: DropOptions & { signal: AbortSignal },
  log: Logger,
): Promise<void> {
  try {
    const dropped = await dropDueRecords(pool, tenantId, { ...options, pause: pauseAfterBatch(options.signal) });
    report(tenantId, dropped, log);
  } catch (error) {
    if (options.signal.aborted) return;
    const reason = (error as Error).message;
    log.warn(
      { tenantId, reason },
      error instanceof MayNotDropError ? MAY_NOT_DROP : 'retention did not finish in this workspace; the next round tries again',
    );
  }
}

function report(tenantId: string, { traces, telemetry, exports, held, unreadable }: DroppedRecords, log: Logger): void {
  if (traces + telemetry + exports > 0)
    log.info({ tenantId, traces, telemetry, exports, held }, 'dropped records whose retention period is over');
  if (unreadable.length > 0)
    log.error(
      { tenantId, segments: unreadable },
      'stored documents in these segments were changed or deleted outside the server, so retention skipped them; run `ledger verify`',
    );
}

/** Returns a function that pauses after each batch, so that retention slows senders down less. */
function pauseAfterBatch(signal: AbortSignal): () => Promise<void> {
  let startedAt = performance.now();
  return async () => {
    await sleep((performance.now() - startedAt) * PAUSE_FACTOR, undefined, { ref: false, signal }).catch(() => undefined);
    startedAt = performance.now();
  };
}

async function repeat(round: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = PAUSE_MS) {
    const isStopped = await sleep(pauseMs, false, { ref: false, signal }).catch(() => true);
    if (!isStopped) await round();
  }
}
