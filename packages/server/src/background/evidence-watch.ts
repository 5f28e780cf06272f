import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { compareTables, type TableFinding } from '../ledger/evidence-tables.ts';
import { reportMissingTenants } from '../ledger/missing-tenants.ts';
import { FINDINGS_PER_WORKSPACE_MAX, RowFindings } from '../ledger/row-findings.ts';
import { listTenantIds } from '../storage/tenants.ts';

/** The interval between the starts of two rounds of comparisons. A start is skipped while the previous round is still running. */
const ROUND_MS = 5 * 60_000;

/** The pause between two workspaces, which limits the load on the database. */
const PAUSE_MS = 50;

/** Compares the tables with the evidence log while the server runs. */
export interface EvidenceWatch {
  readonly findings: RowFindings<TableFinding>;
  /** One line for `/readyz`, without IDs, because the endpoint is public. Undefined if nothing differs. */
  readonly summary: string | undefined;
  /** Compares every workspace once. Does nothing if a comparison is in progress. */
  round(): Promise<void>;
  stop(): void;
}

/**
 * Compares the tables of every workspace with its evidence log, one workspace after the other. A round begins every five minutes, unless
 * the previous one is still running. Rows that differ, up to FINDINGS_PER_WORKSPACE_MAX, are logged once, and the portal names them. These
 * rows have no effect on promotion checks, which read the evidence log. A workspace that cannot be compared because its row of `tenants` is
 * missing is reported too.
 */
export function watchEvidence({ ledgerPool }: Pick<Pools, 'ledgerPool'>, log: Logger): EvidenceWatch {
  const findings = new RowFindings<TableFinding>();
  let isStopped = false;
  let isRunning = false;
  const compare = async (tenantId: string) => {
    const workspaceFindings: TableFinding[] = [];
    for await (const finding of compareTables(ledgerPool, tenantId)) {
      workspaceFindings.push(finding);
      if (isStopped || workspaceFindings.length >= FINDINGS_PER_WORKSPACE_MAX) break;
    }
    for (const finding of findings.replace(tenantId, workspaceFindings))
      log.error({ tenantId, ...finding }, 'this row differs from the evidence log; make the table match the log again');
  };
  const round = async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await reportMissingTenants(ledgerPool);
      for (const tenantId of await listTenantIds(ledgerPool)) {
        if (isStopped) return;
        await compare(tenantId).catch((error: Error) => {
          if (!isStopped)
            log.warn({ tenantId, reason: error.message }, 'tables were not compared with the evidence log this time');
        });
        await sleep(PAUSE_MS, undefined, { ref: false });
      }
    } catch (error) {
      if (!isStopped) log.warn({ reason: (error as Error).message }, 'no tables were compared with evidence logs this time');
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(() => void round(), ROUND_MS).unref();
  const stop = () => {
    isStopped = true;
    clearInterval(timer);
  };
  return {
    findings,
    get summary() {
      if (findings.count === 0) return undefined;
      const tables = findings.tables.join(', ');
      return `rows differ from the evidence log (${tables}); decisions do not depend on these rows, and the server's log names them`;
    },
    round,
    stop,
  };
}
