import type { Severity } from '@countersign/core/portal/incident-routes';
import { sql, type Transaction } from '../database/transaction.ts';

/** An incident to be opened against an agent. */
export interface NewIncident {
  id: string;
  agentId: string;
  severity: Severity;
  description: string;
  openedBy: string;
  openedAt: string;
}

// The default of the column `seq` is the next number of the sequence that also numbers evaluations. So evaluations with a higher number
// were recorded after the incident.
const INSERT = sql(
  'insert_incident',
  `INSERT INTO countersign.incidents (tenant_id, id, agent_id, severity, description, opened_by, opened_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz)`,
);

/** Stores a new incident. */
export const insertIncident = (tx: Transaction, incident: NewIncident): Promise<unknown> =>
  tx.run(INSERT, [
    tx.tenantId,
    incident.id,
    incident.agentId,
    incident.severity,
    incident.description,
    incident.openedBy,
    incident.openedAt,
  ]);
