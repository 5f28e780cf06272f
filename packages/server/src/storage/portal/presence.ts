import type { Overview } from '@countersign/core/portal/workspace-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { expiryClock } from '../expiry-clock.ts';

const there = (table: string, also = ''): string => `EXISTS (SELECT FROM countersign.${table} WHERE tenant_id = $1${also})`;

const FIND = sql<Overview['has']>(
  'portal_find_presence',
  `SELECT ${there('traces')} OR ${there('telemetry_events')} AS runs, ${there('evaluations')} AS evaluations, ${there('decisions')} AS decisions,
          ${there('audit_entries')} AS ledger,
          ${there('ingestion_keys', ` AND kind = 'live' AND revoked_at IS NULL AND coalesce(expires_at > ${expiryClock(2)}, true)`)} AS keys`,
);

/** Whether there is anything of each kind yet. */
export const findPresence = async (tx: Transaction): Promise<Overview['has']> =>
  (await tx.run(FIND, [tx.tenantId, ...tx.clock.expiryBounds()]))[0]!;
