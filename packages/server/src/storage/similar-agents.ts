import { hash } from 'node:crypto';
import { nameSkeletons } from '@countersign/core/domain/name-skeleton';
import { digestArray, int4Array, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** SHA-256 digests of the two skeletons of a name, in hex. The skeletons themselves can be too long for an index. */
export interface SkeletonDigests {
  asWritten: string;
  caseless: string;
}

/** The values of agents.name_skeleton and agents.name_skeleton_caseless for a name. */
export function skeletonDigests(name: string): SkeletonDigests {
  const { asWritten, caseless } = nameSkeletons(name);
  return { asWritten: hash('sha256', asWritten, 'hex'), caseless: hash('sha256', caseless, 'hex') };
}

/** The largest number of similar agents that are returned for one agent. */
export const SIMILAR_MAX = 3;

const selectSimilar = (column: string, digest: string, condition: string) =>
  `(SELECT id, name, created_at FROM countersign.agents AS other
     WHERE other.tenant_id = $1 AND other.${column} = ${digest}${condition} ORDER BY created_at, id LIMIT ${SIMILAR_MAX})`;

/**
 * SQL for the oldest SIMILAR_MAX agents whose name has one of these digests, oldest first, as rows of `id` and `name`. The index of each
 * digest has this order, so the cost does not grow with the number of agents that have the same digest.
 * @param asWritten SQL for a digest of `name_skeleton`.
 * @param caseless SQL for a digest of `name_skeleton_caseless`.
 * @param condition further SQL for the rows of `other`, starting with AND.
 */
export const similarTo = (asWritten: string, caseless: string, condition = ''): string =>
  `SELECT id, name FROM (${selectSimilar('name_skeleton', asWritten, condition)} UNION ${selectSimilar('name_skeleton_caseless', caseless, condition)}) AS alike
    ORDER BY created_at, id LIMIT ${SIMILAR_MAX}`;

const FIND = sql<{ place: number; name: string }>(
  'find_similar_agents',
  `SELECT input.place, found.name
     FROM unnest($2::integer[], $3::bytea[], $4::bytea[]) AS input (place, as_written, caseless)
    CROSS JOIN LATERAL (${similarTo('input.as_written', 'input.caseless')}) AS found`,
);

/** For each pair of digests, in order: the names of up to SIMILAR_MAX stored agents with one of these digests, oldest first. */
export async function findSimilarNames(tx: Transaction, digests: readonly SkeletonDigests[]): Promise<string[][]> {
  if (digests.length === 0) return [];
  const rows = await tx.run(FIND, [
    tx.tenantId,
    int4Array(digests.map((_, place) => place)),
    digestArray(digests.map(({ asWritten }) => asWritten)),
    digestArray(digests.map(({ caseless }) => caseless)),
  ]);
  const names: string[][] = digests.map(() => []);
  for (const { place, name } of rows) names[place]!.push(name);
  return names;
}

const UNFILLED = sql<{ id: string; name: string }>(
  'find_agents_without_skeleton',
  `SELECT id, name FROM countersign.agents WHERE tenant_id = $1 AND name_skeleton IS NULL ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED`,
);

const FILL = sql(
  'fill_agent_skeletons',
  `UPDATE countersign.agents AS a SET name_skeleton = made.as_written, name_skeleton_caseless = made.caseless
     FROM unnest($2::uuid[], $3::bytea[], $4::bytea[]) AS made (id, as_written, caseless)
    WHERE a.tenant_id = $1 AND a.id = made.id`,
);

/** The largest number of names whose skeletons are computed at a time. This takes less than 100 ms for the longest names. */
export const FILLED_MAX = 1000;

/**
 * Computes and stores the skeletons of up to FILLED_MAX agents that have none. A batch that registers more than FILLED_MAX agents stores
 * skeletons for the first FILLED_MAX only. Returns the number of agents whose skeletons were stored.
 */
export async function fillSkeletons(tx: Transaction): Promise<number> {
  const agents = await tx.run(UNFILLED, [tx.tenantId, FILLED_MAX]);
  if (agents.length === 0) return 0;
  const digests = agents.map(({ name }) => skeletonDigests(name));
  await tx.run(FILL, [
    tx.tenantId,
    uuidArray(agents.map(({ id }) => id)),
    digestArray(digests.map(({ asWritten }) => asWritten)),
    digestArray(digests.map(({ caseless }) => caseless)),
  ]);
  return agents.length;
}
