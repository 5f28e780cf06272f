import type { Severity } from '@countersign/core/portal/incident-routes';
import { sql, type Transaction } from '../database/transaction.ts';
import { instantText } from './instant-text.ts';

/** An incident to be opened against an agent. */
export interface NewIncident {
  id: string;
  agentId: string;
  severity: Severity;
  description: string;
  openedBy: string;
  openedAt: string;
}

// Its number comes from the sequence of the evaluations: those with a higher one were recorded after it.
const INSERT = sql(
  'insert_incident',
  `INSERT INTO countersign.incidents (tenant_id, id, agent_id, severity, description, opened_by, opened_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz)`,
);

/** Opens an incident. */
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

/** An incident as its workspace sees it, with the re-certification that it demanded. */
export interface ListedIncident {
  id: string;
  agentId: string;
  agentName: string;
  severity: Severity;
  description: string;
  openedAt: string;
  openedBy: string;
  recertification: 'none' | 'open' | 'closed';
  closedAt: string | null;
  closedBy: string | null;
  closingRationale: string | null;
  closingEvaluationId: string | null;
}

const LIST = sql<ListedIncident>(
  'list_incidents',
  `SELECT i.id, i.agent_id AS "agentId", a.name AS "agentName", i.severity, i.description,
          ${instantText('i.opened_at')} AS "openedAt", i.opened_by AS "openedBy",
          CASE WHEN r.incident_id IS NULL THEN 'none' WHEN r.closed_at IS NULL THEN 'open' ELSE 'closed' END AS recertification,
          ${instantText('r.closed_at')} AS "closedAt", r.closed_by AS "closedBy", r.rationale AS "closingRationale",
          r.evaluation_id AS "closingEvaluationId"
     FROM countersign.incidents AS i
     JOIN countersign.agents AS a ON a.tenant_id = i.tenant_id AND a.id = i.agent_id
     LEFT JOIN countersign.recertifications AS r ON r.tenant_id = i.tenant_id AND r.incident_id = i.id
    WHERE i.tenant_id = $1 ORDER BY i.seq DESC, i.id DESC`,
);

/** The tenant's incidents, newest first. */
export const listIncidents = (tx: Transaction): Promise<ListedIncident[]> => tx.run(LIST, [tx.tenantId]);
