import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { OutcomeUnknownError } from '../database/pool.ts';
import { findTrailHeads } from '../storage/ingestion-keys.ts';

/** The longest wait, and the interval between two reads of the head, in milliseconds. */
interface WaitTimes {
  waitMs: number;
  intervalMs: number;
}

/**
 * Waits until the node of a tenant has applied an event of the tenant's key audit trail. On Citus a transaction on several nodes is
 * committed when all of them have prepared it. If a node fails at that moment, Citus reports success, but the node applies the event only
 * after its recovery, which may take minutes. Until the recovery the former state of the key is valid, so the change must not be
 * acknowledged.
 * @param seq the number of the event.
 * @throws OutcomeUnknownError if the node does not apply the event in time.
 */
export async function awaitKeyEvent(
  pool: Pool,
  tenantId: string,
  seq: number,
  { waitMs, intervalMs }: WaitTimes = { waitMs: 5_000, intervalMs: 100 },
): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const heads = await findTrailHeads(pool, [tenantId]);
    if ((heads.get(tenantId)?.size ?? 0) >= seq) return;
    if (performance.now() > deadline)
      throw new OutcomeUnknownError(
        'the change of the key is committed, but a node of Citus has not applied it yet, so the former state of the key is still valid; list the keys again in a minute',
      );
    await sleep(intervalMs);
  }
}
