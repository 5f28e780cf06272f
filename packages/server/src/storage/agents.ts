import { digestArray, textArray, uuidArray } from '../database/binary-array.ts';
import { FENCE } from '../database/planner.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import type { SkeletonDigests } from './similar-agents.ts';

/** A stored agent. */
export interface Agent {
  id: string;
  name: string;
  isHighRisk: boolean;
}

// One index lookup for each ID and each name: see FENCE.
const FIND = sql<Agent>(
  'find_agents',
  `SELECT found.* FROM unnest($2::uuid[]) AS input (id) CROSS JOIN LATERAL (
     SELECT id, name, risk_level = 'high' AS "isHighRisk" FROM countersign.agents AS a WHERE a.tenant_id = $1 AND a.id = input.id ${FENCE}) AS found
   UNION
   SELECT found.* FROM unnest($3::text[]) AS input (name) CROSS JOIN LATERAL (
     SELECT id, name, risk_level = 'high' AS "isHighRisk" FROM countersign.agents AS a WHERE a.tenant_id = $1 AND a.name = input.name ${FENCE}) AS found`,
);

/** The agents that have one of these IDs or names, each once. */
export function findAgents(tx: Transaction, ids: readonly string[], names: readonly string[]): Promise<Agent[]> {
  if (ids.length === 0 && names.length === 0) return Promise.resolve([]);
  return tx.run(FIND, [tx.tenantId, uuidArray(ids), textArray(names)]);
}

const INSERT = sql(
  'insert_agents',
  `INSERT INTO countersign.agents (tenant_id, id, name, name_skeleton, name_skeleton_caseless, created_at)
   SELECT $1, id, name, as_written, caseless, statement_timestamp()
     FROM unnest($2::uuid[], $3::text[], $4::bytea[], $5::bytea[]) AS sent (id, name, as_written, caseless) ORDER BY name`,
);

/** Stores new agents. It fails with a unique violation if another batch stored one of them first; the retry finds that agent. */
export function insertAgents(
  tx: Transaction,
  agents: readonly { id: string; name: string; skeletons: SkeletonDigests | null }[],
): void {
  if (agents.length === 0) return;
  tx.send(INSERT, [
    tx.tenantId,
    uuidArray(agents.map(({ id }) => id)),
    textArray(agents.map(({ name }) => name)),
    digestArray(agents.map(({ skeletons }) => skeletons?.asWritten ?? null)),
    digestArray(agents.map(({ skeletons }) => skeletons?.caseless ?? null)),
  ]);
}

const SET_RISK = sql('set_agent_risk', `UPDATE countersign.agents SET risk_level = $3 WHERE tenant_id = $1 AND id = $2`);

/** Sets the risk level of an agent. */
export const setAgentRisk = (tx: Transaction, id: string, level: 'low' | 'high'): Promise<unknown> =>
  tx.run(SET_RISK, [tx.tenantId, id, level]);

const SET_ARCHIVED = sql<{ id: string }>(
  'set_agent_archived',
  `UPDATE countersign.agents SET archived_at = $3::timestamptz
    WHERE tenant_id = $1 AND id = $2 AND (archived_at IS NULL) <> ($3::timestamptz IS NULL) RETURNING id`,
);

/** Archives an agent with the time `at`, or restores it if `at` is null. False if it is in that state already, or does not exist. */
export const setAgentArchived = async (tx: Transaction, id: string, at: string | null): Promise<boolean> =>
  (await tx.run(SET_ARCHIVED, [tx.tenantId, id, at])).length === 1;
