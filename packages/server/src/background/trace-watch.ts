import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { RowFindings } from '../ledger/row-findings.ts';
import { type TraceFinding, verifyTraces } from '../ledger/verify-traces.ts';
import { listTenantIds } from '../storage/tenants.ts';

/** The pause between two rounds: a multiple of the duration of the last round, within these bounds. */
const PAUSE_MS = { min: 5 * 60_000, max: 24 * 3_600_000, timesRound: 20 };

/** The pause after each page, as a multiple of the time that the page took. */
const REST_TIMES_PAGE = 4;

/** Compares traces with the logs `traces` while the server runs. */
export interface TraceWatch {
  readonly findings: RowFindings<TraceFinding>;
  /** One line for `/readyz`, without IDs, because the endpoint is public. Undefined if nothing differs. */
  readonly summary: string | undefined;
  /** Compares every workspace once. */
  round(): Promise<void>;
  stop(): void;
}

/**
 * Verifies the log `traces` of every workspace repeatedly, at a low rate, and compares rows and columns with it. Each difference is logged
 * once.
 */
export function watchTraces({ ledgerPool }: Pick<Pools, 'ledgerPool'>, log: Logger): TraceWatch {
  const findings = new RowFindings<TraceFinding>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;
  const compare = async (tenantId: string) => {
    const found = findingsOf(await verifyTraces(ledgerPool, tenantId, { rest: pauseAfterPage(signal) }));
    for (const finding of findings.replace(tenantId, found))
      log.error({ tenantId, ...finding }, 'this row differs from the log of traces: it was changed outside the server');
  };
  const compareAll = async () => {
    const notCompared = (error: Error) => {
      if (!signal.aborted) log.warn({ reason: error.message }, 'traces were not compared with their logs this time');
    };
    const tenantIds = await listTenantIds(ledgerPool).catch(notCompared);
    for (const tenantId of tenantIds ?? []) {
      if (signal.aborted) return;
      await compare(tenantId).catch(notCompared);
    }
  };
  const round = () => {
    running ??= compareAll().finally(() => {
      running = undefined;
    });
    return running;
  };
  void repeat(round, signal);
  return {
    findings,
    get summary() {
      return findings.count === 0
        ? undefined
        : 'rows differ from the log of traces; the server log and "ledger verify" name them';
    },
    round,
    stop: () => stopping.abort(),
  };
}

/** Starts a round after each pause until it is stopped. */
async function repeat(round: () => Promise<void>, signal: AbortSignal): Promise<void> {
  let pauseMs = PAUSE_MS.min;
  while (!signal.aborted) {
    const isStopped = await sleep(pauseMs, false, { ref: false, signal }).catch(() => true);
    if (isStopped) return;
    const began = performance.now();
    await round();
    const tookMs = performance.now() - began;
    pauseMs = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, tookMs * PAUSE_MS.timesRound));
  }
}

/** Returns the pause between two pages of a verification. It rejects when the watch is stopped. */
function pauseAfterPage(signal: AbortSignal): () => Promise<void> {
  let began = performance.now();
  return async () => {
    await sleep((performance.now() - began) * REST_TIMES_PAGE, undefined, { ref: false, signal });
    began = performance.now();
  };
}

/** The rows that differ. An invalid log is one finding. */
function findingsOf({ findings, firstBad, contradiction }: Awaited<ReturnType<typeof verifyTraces>>): readonly TraceFinding[] {
  const fault = firstBad?.reason ?? (findings.length === 0 ? contradiction?.reason : undefined);
  if (fault === undefined) return findings;
  return [{ table: 'trace_events', id: String(firstBad?.seq ?? contradiction?.source), fault }, ...findings];
}
