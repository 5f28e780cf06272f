import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { type LogReport, type RowFinding, RowFindings, tableSource } from '../ledger/row-findings.ts';
import type { LogName } from '../storage/log-heads.ts';
import { listTenantIds } from '../storage/tenants.ts';

/** After each round, the watch pauses for ROUND_PAUSE_FACTOR times the duration of the round, but within these limits. */
const PAUSE_MS = { min: 5 * 60_000, max: 24 * 3_600_000 };
const ROUND_PAUSE_FACTOR = 20;

/** After each page, the watch pauses for this many times the duration of the page. */
const PAGE_PAUSE_FACTOR = 4;

/** The table that has the rows of a log. */
const TABLE_OF: Readonly<Record<LogName, string>> = {
  audit: 'audit_entries',
  decisions: 'decisions',
  evidence: 'evidence_events',
  keys: 'key_events',
  traces: 'trace_events',
};

/** How a log of a workspace is verified. `pause` is awaited after each page. */
export type VerifyLog = (tenantId: string, log: LogName, pause: () => Promise<void>) => Promise<LogReport>;

/** Verifies logs while the server runs. */
export interface LogWatch {
  /** The first fault of each log, or its contradiction with something else, and the rows of other tables that differ from the log. */
  readonly findings: RowFindings<RowFinding>;
  /** One line for `/readyz`, without IDs, because the endpoint is public. Undefined without a finding. */
  readonly summary: string | undefined;
  /** Verifies the logs of every workspace once. If a round is in progress, resolves when it ends. */
  round(): Promise<void>;
  stop(): void;
}

/** Verifies the given logs of every workspace again and again, at a low rate. Each finding is logged once. */
export function watchLogs(
  { ledgerPool }: Pick<Pools, 'ledgerPool'>,
  log: Logger,
  { logs, verify }: { logs: readonly LogName[]; verify: VerifyLog },
): LogWatch {
  const findings = new RowFindings<RowFinding>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;
  const verifyWorkspace = async (tenantId: string) => {
    const workspaceFindings: RowFinding[] = [];
    let isComplete = true;
    for (const name of logs) {
      try {
        workspaceFindings.push(...findingsOf(name, await verify(tenantId, name, pauseAfterPage(signal))));
      } catch (error) {
        if (signal.aborted) return;
        isComplete = false;
        log.warn({ tenantId, log: name, reason: (error as Error).message }, 'this log was not verified this time');
      }
    }
    for (const finding of isComplete ? findings.replace(tenantId, workspaceFindings) : findings.add(tenantId, workspaceFindings))
      log.error(
        { tenantId, ...finding },
        'a log is not valid, or a row differs from its log: the database was changed or restored outside the server; run `ledger verify`',
      );
  };
  const verifyAll = async () => {
    const tenantIds = await listTenantIds(ledgerPool).catch((error: Error) => {
      if (!signal.aborted) log.warn({ logs, reason: error.message }, 'no log was verified this time');
    });
    for (const tenantId of tenantIds ?? []) {
      if (signal.aborted) return;
      await verifyWorkspace(tenantId);
    }
  };
  const round = () => {
    running ??= verifyAll().finally(() => {
      running = undefined;
    });
    return running;
  };
  void repeat(round, signal);
  return {
    findings,
    get summary() {
      if (findings.count === 0) return undefined;
      const tables = findings.tables.join(', ');
      return `logs are not valid, or rows differ from their log (${tables}); the server's log and "ledger verify" name the faults`;
    },
    round,
    stop: () => stopping.abort(),
  };
}

/** Starts a round after each pause until the watch is stopped. The first pause is the shortest one. */
async function repeat(round: () => Promise<void>, signal: AbortSignal): Promise<void> {
  let pauseMs = PAUSE_MS.min;
  while (!signal.aborted) {
    const isStopped = await sleep(pauseMs, false, { ref: false, signal }).catch(() => true);
    if (isStopped) return;
    const startedAt = performance.now();
    await round();
    const tookMs = performance.now() - startedAt;
    pauseMs = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, tookMs * ROUND_PAUSE_FACTOR));
  }
}

/** Returns a function that pauses after each page of a verification. The promise of that function rejects when the watch is stopped. */
function pauseAfterPage(signal: AbortSignal): () => Promise<void> {
  let startedAt = performance.now();
  return async () => {
    await sleep((performance.now() - startedAt) * PAGE_PAUSE_FACTOR, undefined, { ref: false, signal });
    startedAt = performance.now();
  };
}

/**
 * The findings of a report. The contradiction with a table describes the same row as the first finding of this table. So it is left out if
 * there is such a finding.
 */
function findingsOf(log: LogName, { findings = [], firstBad, contradiction }: LogReport): readonly RowFinding[] {
  const table = TABLE_OF[log];
  if (firstBad !== undefined) return [{ table, id: String(firstBad.seq), fault: firstBad.reason }, ...findings];
  if (contradiction === undefined || findings.some((finding) => contradiction.source === tableSource(finding.table)))
    return findings;
  return [{ table, id: contradiction.source, fault: contradiction.reason }, ...findings];
}
