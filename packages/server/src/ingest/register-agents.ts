import { ApiError } from '../api-error.ts';
import { type Transaction, underWay } from '../database/transaction.ts';
import { insertAgents } from '../storage/agents.ts';
import {
  FILLED_MAX,
  fillSkeletons,
  findSimilarNames,
  SIMILAR_MAX,
  type SkeletonDigests,
  skeletonDigests,
} from '../storage/similar-agents.ts';
import { similarNameWarning, WARNING_HEADER } from './name-warning.ts';
import type { Outcome } from './replays.ts';

/** An agent that a batch registers. */
export interface NewAgent {
  id: string;
  name: string;
}

/** What became of the agents of a batch. */
export interface Registration {
  /** Resolves when they are stored. Need not be awaited before COMMIT. */
  sent: Promise<unknown>;
  /** The outcome of a record that registers these agents: with the header that names the known ones they look like. */
  warn(outcome: Outcome, registered: readonly NewAgent[]): Outcome;
}

/** Of a batch without new agents: there is nothing to wait for. */
const NOBODY: Registration = { sent: Promise.resolve(), warn: (outcome) => outcome };

/**
 * Registers the agents of a batch and finds the known ones that look like them. A batch without new agents costs nothing, and
 * its statements leave together: there is no promise to await. Of more than FILLED_MAX new agents the rest are stored without skeletons,
 * which the server makes afterwards: one batch must not hold up the others.
 */
export const registerAgents = (tx: Transaction, agents: readonly NewAgent[]): Registration | Promise<Registration> =>
  agents.length === 0 ? NOBODY : register(tx, agents);

async function register(tx: Transaction, agents: readonly NewAgent[]): Promise<Registration> {
  const digests = agents.slice(0, FILLED_MAX).map(({ name }) => skeletonDigests(name));
  const filled = underWay(fillSkeletons(tx));
  let known = await findSimilarNames(tx, digests);
  if ((await filled) > 0) known = await findSimilarNames(tx, digests);
  const similar = new Map(agents.slice(0, FILLED_MAX).map(({ id }, index) => [id, known[index]!]));
  addEarlierOnes(similar, agents, digests);
  const sent = insertAgents(
    tx,
    agents.map((agent, index) => ({ ...agent, skeletons: digests[index] ?? null })),
  );
  return {
    sent,
    warn(outcome, registered) {
      if (outcome instanceof ApiError) return outcome;
      const found = registered.map(({ id, name }) => ({ name, similar: similar.get(id) ?? [] }));
      const warning = similarNameWarning(found);
      return warning === undefined ? outcome : { ...outcome, headers: { ...outcome.headers, [WARNING_HEADER]: warning } };
    },
  };
}

/** Adds to each agent those that the same batch registers before it. */
function addEarlierOnes(
  similar: ReadonlyMap<string, string[]>,
  agents: readonly NewAgent[],
  digests: readonly SkeletonDigests[],
): void {
  const byDigest = new Map<string, string>();
  digests.forEach(({ asWritten, caseless }, index) => {
    const { id, name } = agents[index]!;
    const names = similar.get(id)!;
    const earlier = new Set([byDigest.get(`w${asWritten}`), byDigest.get(`c${caseless}`)]);
    for (const other of earlier) if (other !== undefined && names.length < SIMILAR_MAX) names.push(other);
    if (!byDigest.has(`w${asWritten}`)) byDigest.set(`w${asWritten}`, name);
    if (!byDigest.has(`c${caseless}`)) byDigest.set(`c${caseless}`, name);
  });
}
