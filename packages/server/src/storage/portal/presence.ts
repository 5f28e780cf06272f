import type { Overview } from '@countersign/core/portal/workspace-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { expiryClock } from '../expiry-clock.ts';

const existsIn = (table: string, condition = ''): string =>
  `EXISTS (SELECT FROM countersign.${table} WHERE tenant_id = $1${condition})`;

const FIND = sql<Overview['has']>(
  'portal_find_presence',
  `SELECT ${existsIn('traces')} OR ${existsIn('telemetry_events')} AS runs, ${existsIn('evaluations')} AS evaluations, ${existsIn('decisions')} AS decisions,
          ${existsIn('audit_entries')} AS ledger,
          ${existsIn('ingestion_keys', ` AND kind = 'live' AND revoked_at IS NULL AND coalesce(expires_at > ${expiryClock(2)}, true)`)} AS keys`,
);

/** Whether the tenant has records of each kind. Of the keys, only active ingestion keys count. */
export const findPresence = async (tx: Transaction): Promise<Overview['has']> =>
  (await tx.run(FIND, [tx.tenantId, ...tx.clock.expiryBounds()]))[0]!;
