import type { AgentName, RiskLevel } from '@countersign/core/portal/agent-facts';
import type { AgentDetail, PassRatePoint } from '@countersign/core/portal/agent-routes';
import { uuidArray } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { similarTo } from '../similar-agents.ts';
import { lookUp } from './fragments.ts';

/** A stored agent, with the time of its last trace, telemetry event or evaluation, and agents with similar names. */
export interface AgentWithActivity {
  id: string;
  name: string;
  risk_level: RiskLevel;
  created_at: string;
  archived_at: string | null;
  last_seen_at: string | null;
  similar_to: AgentName[];
}

const lastOf = (table: string, order: string): string =>
  `(SELECT x.received_at FROM countersign.${table} AS x WHERE x.tenant_id = $1 AND x.agent_id = a.id ORDER BY ${order} LIMIT 1)`;

/** SQL for the other agents that are not archived and whose names look like the name of `a`. */
const SIMILAR = similarTo('a.name_skeleton', 'a.name_skeleton_caseless', ' AND other.id <> a.id AND other.archived_at IS NULL');

const COLUMNS = `a.id, a.name, a.risk_level, ${instantText('a.created_at')} AS created_at,
  ${instantText('a.archived_at')} AS archived_at,
  ${instantText(`greatest(${lastOf('traces', 'x.id DESC')}, ${lastOf('telemetry_events', 'x.submission DESC, x.ordinal DESC')},
    (SELECT e.recorded_at FROM countersign.evaluations AS e WHERE e.tenant_id = $1 AND e.agent_id = a.id ORDER BY e.seq DESC LIMIT 1))`)} AS last_seen_at,
  coalesce((SELECT json_agg(json_build_object('id', found.id, 'name', found.name)) FROM (${SIMILAR}) AS found), '[]') AS similar_to`;

const LIST = sql<AgentWithActivity>(
  'portal_list_agents',
  `SELECT ${COLUMNS} FROM (
     SELECT * FROM countersign.agents AS a
      WHERE a.tenant_id = $1 AND ($2::text IS NULL OR a.name > $2) AND ($3::text IS NULL OR a.risk_level = $3)
        AND ($4::text IS NULL OR strpos(lower(a.name), lower($4)) > 0)
        AND ($5::boolean IS NULL OR (a.archived_at IS NOT NULL) = $5)
      ORDER BY a.name LIMIT $6) AS a ORDER BY a.name`,
);

/**
 * Agents after the name `after`, sorted by name, at most `limit`. `search` is a text that the name contains, ignoring case. A member of the
 * filter that is null does not filter.
 */
export const listAgentsPage = (
  tx: Transaction,
  filter: { search: string | null; riskLevel: RiskLevel | null; archived: boolean | null },
  after: string | null,
  limit: number,
): Promise<AgentWithActivity[]> => tx.run(LIST, [tx.tenantId, after, filter.riskLevel, filter.search, filter.archived, limit]);

const FIND = sql<AgentWithActivity>(
  'portal_find_agents',
  `SELECT ${COLUMNS} FROM countersign.agents AS a WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[])`,
);

/** The agents with these IDs, in no particular order. */
export const findAgentsWithActivity = (tx: Transaction, ids: readonly string[]): Promise<AgentWithActivity[]> =>
  tx.run(FIND, [tx.tenantId, uuidArray(ids)]);

const IDS_BY_NAME = sql<{ id: string }>(
  'portal_find_agent_ids_by_name',
  `SELECT id FROM countersign.agents WHERE tenant_id = $1 AND strpos(lower(name), lower($2)) > 0 ORDER BY name LIMIT 50`,
);

/** The IDs of agents whose name contains a text, ignoring case, sorted by name, at most 50. */
export const findAgentIdsByName = async (tx: Transaction, text: string): Promise<string[]> =>
  (await tx.run(IDS_BY_NAME, [tx.tenantId, text])).map(({ id }) => id);

/** The number of an agent's latest evaluations that are searched for harnesses. */
const HARNESS_EVALUATIONS_MAX = 500;

/** The counts on the page of an agent, and the harnesses that the page offers as a filter. */
export type AgentCounts = Pick<AgentDetail, 'evaluations' | 'approvals_pending' | 'incidents' | 'harnesses'>;

const COUNTS = sql<AgentCounts>(
  'portal_count_of_agent',
  `SELECT (SELECT count(*) FROM countersign.evaluations WHERE tenant_id = $1 AND agent_id = $2) AS evaluations,
          (SELECT count(*) FROM countersign.approvals WHERE tenant_id = $1 AND agent_id = $2 AND status = 'pending') AS approvals_pending,
          (SELECT count(*) FROM countersign.incidents WHERE tenant_id = $1 AND agent_id = $2) AS incidents,
          array(SELECT DISTINCT harness_id FROM (
            SELECT harness_id FROM countersign.evaluations WHERE tenant_id = $1 AND agent_id = $2
             ORDER BY seq DESC LIMIT ${HARNESS_EVALUATIONS_MAX}) AS latest WHERE harness_id IS NOT NULL)::text[] AS harnesses`,
);

/** Reads the AgentCounts of an agent. */
export const readAgentCounts = async (tx: Transaction, id: string): Promise<AgentCounts> =>
  (await tx.run(COUNTS, [tx.tenantId, id]))[0]!;

const PASS_RATES = sql<PassRatePoint>(
  'portal_list_pass_rates',
  `SELECT e.id AS evaluation_id, e.name, e.suite, ${instantText('e.recorded_at')} AS recorded_at, e.status, e.pass_rate, e.harness_id, p.status AS approval
     FROM (SELECT * FROM countersign.evaluations
            WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR harness_id = $3)
            ORDER BY seq DESC LIMIT $4) AS e
     ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
    ORDER BY e.seq DESC`,
);

/** The pass rates of an agent's latest evaluations, newest first, at most `limit`. `harnessId` null means all harnesses. */
export const listPassRates = (
  tx: Transaction,
  agentId: string,
  harnessId: string | null,
  limit: number,
): Promise<PassRatePoint[]> => tx.run(PASS_RATES, [tx.tenantId, agentId, harnessId, limit]);

const COUNT = sql<{ agents: number }>(
  'portal_count_agents',
  `SELECT count(*) AS agents FROM countersign.agents WHERE tenant_id = $1 AND archived_at IS NULL`,
);

/** The number of agents of the tenant that are not archived. */
export const countAgents = async (tx: Transaction): Promise<number> => (await tx.run(COUNT, [tx.tenantId]))[0]!.agents;

const FIRST_IDS = sql<{ id: string; name: string }>(
  'portal_list_agent_ids',
  `SELECT id, name FROM countersign.agents WHERE tenant_id = $1 AND archived_at IS NULL ORDER BY name LIMIT $2`,
);

/** The IDs and names of agents, sorted by name, at most `limit`. Archived agents are omitted. */
export const listAgentNames = (tx: Transaction, limit: number): Promise<{ id: string; name: string }[]> =>
  tx.run(FIRST_IDS, [tx.tenantId, limit]);
