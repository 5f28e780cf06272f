import { hash } from 'node:crypto';
import { nameSkeletons } from '@countersign/core/domain/name-skeleton';
import { digestArray, int4Array, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** Digests of the two skeletons of a name, in hex: names are longer than an index takes. */
export interface SkeletonDigests {
  asWritten: string;
  caseless: string;
}

/** What agents.name_skeleton and agents.name_skeleton_caseless hold for a name. */
export function skeletonDigests(name: string): SkeletonDigests {
  const { asWritten, caseless } = nameSkeletons(name);
  return { asWritten: hash('sha256', asWritten, 'hex'), caseless: hash('sha256', caseless, 'hex') };
}

/** Most similar agents that are named for one agent. */
export const SIMILAR_MAX = 3;

/** So many agents of one skeleton are compared by age. */
const COMPARED_MAX = 20;

const alike = (column: string, digest: string, condition: string) =>
  `(SELECT id, name, created_at FROM countersign.agents AS other
     WHERE other.tenant_id = $1 AND other.${column} = ${digest}${condition} LIMIT ${COMPARED_MAX})`;

/**
 * SQL of the agents whose name looks like one of these digests, the oldest first, as rows of `id` and `name`. A look-up in each index,
 * bounded, however many agents have one skeleton. `condition` is SQL about them, as rows of `other`.
 */
export const similarTo = (asWritten: string, caseless: string, condition = ''): string =>
  `SELECT id, name FROM (${alike('name_skeleton', asWritten, condition)} UNION ${alike('name_skeleton_caseless', caseless, condition)}) AS alike
    ORDER BY created_at, id LIMIT ${SIMILAR_MAX}`;

const FIND = sql<{ place: number; name: string }>(
  'find_similar_agents',
  `SELECT asked.place, found.name
     FROM unnest($2::integer[], $3::bytea[], $4::bytea[]) AS asked (place, as_written, caseless)
    CROSS JOIN LATERAL (${similarTo('asked.as_written', 'asked.caseless')}) AS found`,
);

/** The names of the agents that look alike, the oldest first, for each of these in its order. */
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

/** So many skeletons are made at a time: well under 100 ms of work for the longest names. */
export const FILLED_MAX = 1000;

/**
 * Makes the skeletons of up to FILLED_MAX agents that have none: those registered before there was this column, by an older server beside
 * this one, or in a batch with very many new agents. Returns how many.
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
