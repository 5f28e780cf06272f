import type { ChainReport } from '@countersign/core/domain/chain-report';
import type { Pool } from 'pg';
import { deriveDecisionKey } from '../crypto/digests.ts';
import type { LogName } from '../storage/log-heads.ts';
import type { RowFinding } from './row-findings.ts';
import { verifyAuditLedger } from './verify-audit-ledger.ts';
import { verifyDecisions } from './verify-decisions.ts';
import { verifyEvidence } from './verify-evidence.ts';
import { verifyKeyEvents } from './verify-key-events.ts';
import { verifyTraces } from './verify-traces.ts';
import type { WalkOptions } from './walk-log.ts';

/**
 * Verifies one log of a tenant in the database: its rows, head, tree and checkpoints, and the tables that must match it.
 * @param masterSecret verifies the signatures of decisions.
 */
export function verifyLog(
  pool: Pool,
  masterSecret: Uint8Array,
  { tenantId, log }: { tenantId: string; log: LogName },
  options: WalkOptions = {},
): Promise<ChainReport & { findings?: readonly RowFinding[] }> {
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
