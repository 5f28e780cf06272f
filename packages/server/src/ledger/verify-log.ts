import type { KeptHead } from '@countersign/core/domain/tree-verifier';
import type { Pool } from 'pg';
import { deriveDecisionKey } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { lastSeenHead } from './head-memory.ts';
import type { LogReport } from './row-findings.ts';
import { verifyAuditLedger } from './verify-audit-ledger.ts';
import { verifyDecisions } from './verify-decisions.ts';
import { verifyEvidence } from './verify-evidence.ts';
import { verifyKeyEvents } from './verify-key-events.ts';
import { verifyTraces } from './verify-traces.ts';
import type { WalkOptions } from './walk-log.ts';

/** A log of a tenant. */
interface TenantLog {
  tenantId: string;
  log: LogName;
}

/**
 * Verifies one log of a tenant in the database: its rows, head, tree and checkpoints, and the tables that must match it.
 * @param masterSecret verifies the signatures of decisions.
 */
export function verifyLog(
  pool: Pool,
  masterSecret: Uint8Array,
  { tenantId, log }: TenantLog,
  options: WalkOptions = {},
): Promise<LogReport> {
  switch (log) {
    case 'audit':
      return verifyAuditLedger(pool, tenantId, options);
    case 'decisions':
      return verifyDecisions(pool, tenantId, (tenant, keyId) => deriveDecisionKey(masterSecret, tenant, keyId), options);
    case 'evidence':
      return verifyEvidence(pool, tenantId, options);
    case 'keys':
      return verifyKeyEvents(pool, tenantId, options);
    case 'traces':
      return verifyTraces(pool, tenantId, options);
  }
}

/**
 * Does the same as `verifyLog`, and also compares the log with the newest head that this process or the memory folder has. So it detects an
 * older state of the database that was restored with its seals and checkpoints.
 */
export async function verifyKnownLog(
  pool: Pool,
  masterSecret: Uint8Array,
  { tenantId, log }: TenantLog,
  options: WalkOptions = {},
): Promise<LogReport> {
  // The known head is read before the log, so that it covers no later rows.
  const known = await readKnownHeads(pool, { tenantId, log });
  const report = await verifyLog(
    pool,
    masterSecret,
    { tenantId, log },
    { ...options, keptHeads: [...(options.keptHeads ?? []), ...known] },
  );
  const { contradiction } = report;
  if (contradiction?.source !== KNOWN_HEAD) return report;
  return { ...report, contradiction: { ...contradiction, reason: contradiction.reason + ACCEPT_RESTORE } };
}

const KNOWN_HEAD = 'the newest head that the server has seen';
const ACCEPT_RESTORE = '; if you restored an older state, or a replica took over, see `ledger accept-restore --help`';

async function readKnownHeads(pool: Pool, { tenantId, log }: TenantLog): Promise<KeptHead[]> {
  const seen = await inTenantTransaction(pool, tenantId, async (tx) => lastSeenHead(tx, log));
  if (seen === undefined) return [];
  const heads = [{ size: seen.size, root: seen.root() }, ...(seen.later === undefined ? [] : [seen.later])];
  return heads.map((head) => ({ source: KNOWN_HEAD, ...head }));
}
