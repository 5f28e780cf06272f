import type { Incident, Severity } from '@countersign/core/portal/incident-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, beginningOf, lookUp } from './fragments.ts';

/** The place of an incident in the list: its number and its ID. */
export interface IncidentPlace {
  seq: number;
  id: string;
}

/** A listed incident, and the number of its place. */
export type IncidentListRow = Incident & { place_seq: number };

const columns = (
  textOf: (column: string) => string,
) => `i.id, ${agentJson('a')} AS agent, i.severity, ${textOf('i.description')} AS description, ${instantText('i.opened_at')} AS opened_at, i.opened_by,
  CASE WHEN r.incident_id IS NULL THEN 'none' WHEN r.closed_at IS NULL THEN 'open' ELSE 'closed' END AS recertification,
  ${instantText('r.closed_at')} AS closed_at, r.closed_by, ${textOf('r.rationale')} AS closing_rationale, r.evaluation_id AS closing_evaluation_id,
  i.seq AS place_seq`;
const asStored = (column: string): string => column;
const LISTED_COLUMNS = columns(beginningOf);
const JOINS = `${lookUp('agents', 'a', 'id', 'i.agent_id')} ${lookUp('recertifications', 'r', 'incident_id', 'i.id')}`;
const LOWEST_ID = `'00000000-0000-0000-0000-000000000000'`;
const HIGHEST_SEQ = `'9223372036854775807'`;

const listAll = (name: string, listedColumns: string) =>
  sql<IncidentListRow>(
    name,
    `SELECT ${listedColumns} FROM (
       SELECT * FROM countersign.incidents AS i
        WHERE i.tenant_id = $1 AND (i.seq, i.id) < (coalesce($2::bigint, ${HIGHEST_SEQ}), coalesce($3::uuid, ${LOWEST_ID}))
          AND ($4::uuid IS NULL OR i.agent_id = $4) AND ($5::text IS NULL OR i.severity = $5)
        ORDER BY i.seq DESC, i.id DESC LIMIT $6) AS i ${JOINS} ORDER BY i.seq DESC, i.id DESC`,
  );

const LIST = listAll('portal_list_incidents', LISTED_COLUMNS);
const LIST_WITH_TEXTS = listAll('list_incidents_with_texts', columns(asStored));

/** A filter of incidents. A member that is null does not filter. */
export interface IncidentFilter {
  agentId: string | null;
  severity: Severity | null;
}

/** Incidents after a place, latest first, at most `limit`. */
export const listIncidentsPage = (
  tx: Transaction,
  { agentId, severity }: IncidentFilter,
  after: IncidentPlace | null,
  limit: number,
): Promise<IncidentListRow[]> => tx.run(LIST, [tx.tenantId, after?.seq ?? null, after?.id ?? null, agentId, severity, limit]);

/** Like `listIncidentsPage`, without a filter and with complete texts, for the command line. */
export const listIncidentsWithTexts = (tx: Transaction, after: IncidentPlace | null, limit: number): Promise<IncidentListRow[]> =>
  tx.run(LIST_WITH_TEXTS, [tx.tenantId, after?.seq ?? null, after?.id ?? null, null, null, limit]);

const listOpen = (name: string, order: 'ASC' | 'DESC') =>
  sql<IncidentListRow>(
    name,
    `SELECT ${LISTED_COLUMNS} FROM (
       SELECT incident_id, opened_seq FROM countersign.recertifications AS o
        WHERE o.tenant_id = $1 AND o.closed_at IS NULL
          AND (o.opened_seq, o.incident_id) < (coalesce($2::bigint, ${HIGHEST_SEQ}), coalesce($3::uuid, ${LOWEST_ID}))
          AND ($4::uuid IS NULL OR o.agent_id = $4)
          AND ($5::text IS NULL OR EXISTS (SELECT FROM countersign.incidents AS x WHERE x.tenant_id = $1 AND x.id = o.incident_id AND x.severity = $5))
        ORDER BY o.opened_seq ${order}, o.incident_id ${order} LIMIT $6) AS o
       ${lookUp('incidents', 'i', 'id', 'o.incident_id')} ${JOINS}
      ORDER BY o.opened_seq ${order}, o.incident_id ${order}`,
  );

const OPEN = listOpen('portal_list_open_recertifications', 'DESC');
const LONGEST_OPEN = listOpen('portal_list_longest_open_recertifications', 'ASC');

/** Incidents whose re-certification is open, after a place, latest first, at most `limit`. */
export const listOpenRecertifications = (
  tx: Transaction,
  { agentId, severity }: IncidentFilter,
  after: IncidentPlace | null,
  limit: number,
): Promise<IncidentListRow[]> => tx.run(OPEN, [tx.tenantId, after?.seq ?? null, after?.id ?? null, agentId, severity, limit]);

/** The incidents whose re-certifications have been open longest, oldest first, at most `limit`. */
export const listLongestOpen = (tx: Transaction, limit: number): Promise<IncidentListRow[]> =>
  tx.run(LONGEST_OPEN, [tx.tenantId, null, null, null, null, limit]);

const FIND = sql<IncidentListRow>(
  'portal_find_incident',
  `SELECT ${columns(asStored)} FROM countersign.incidents AS i ${JOINS} WHERE i.tenant_id = $1 AND i.id = $2`,
);

/** One incident; undefined if there is none. */
export const findIncident = async (tx: Transaction, id: string): Promise<IncidentListRow | undefined> =>
  (await tx.run(FIND, [tx.tenantId, id]))[0];

const OPEN_OF_AGENT = sql<{ incident_id: string }>(
  'portal_list_open_of_agent',
  `SELECT incident_id FROM countersign.recertifications WHERE tenant_id = $1 AND agent_id = $2 AND closed_at IS NULL ORDER BY opened_seq, incident_id`,
);

/** The IDs of an agent's incidents whose re-certifications are open, oldest first. */
export const listOpenOfAgent = async (tx: Transaction, agentId: string): Promise<string[]> =>
  (await tx.run(OPEN_OF_AGENT, [tx.tenantId, agentId])).map(({ incident_id }) => incident_id);

const COUNT_OPEN = sql<{ open: number }>(
  'portal_count_open_recertifications',
  `SELECT count(*) AS open FROM (SELECT FROM countersign.recertifications WHERE tenant_id = $1 AND closed_at IS NULL LIMIT 1000) AS waiting`,
);

/** The number of open re-certifications, counted up to 1,000. */
export const countOpenRecertifications = async (tx: Transaction): Promise<number> =>
  (await tx.run(COUNT_OPEN, [tx.tenantId]))[0]!.open;
