import type { EvidenceState } from '@countersign/core/domain/evidence-state';
import { ignoreRejection, type Transaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { lockLogs } from '../ledger/advance.ts';
import { EvidenceBrokenError } from '../ledger/evidence-broken.ts';
import { appendEvidence } from '../ledger/evidence-log.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { type Agent, findAgents, insertAgents } from '../storage/agents.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
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
  /** The sender of the record that names it. */
  recordedBy: string;
}

/** The result of registering the agents of a batch. */
export interface Registration {
  /** The head of the evidence log after the new agents; undefined without new agents. */
  head?: HeadToMove;
  /** Returns the outcome of a record that registers these agents, with the header about similar names if there are any. */
  warn(outcome: Outcome, registered: readonly NewAgent[]): Outcome;
}

/** The result for a batch without new agents. */
export const NO_REGISTRATION: Registration = { warn: (outcome) => outcome };

/**
 * Registers the agents of a batch and finds known ones that look like them. Without new agents it returns no promise, so the batch's
 * statements stay in one round trip. Agents beyond FILLED_MAX are stored without skeletons, so that one batch does not delay others. The
 * server adds the skeletons later. Without `lockedHead`, the head of the evidence log is locked here, after the rows of traces. So no
 * transaction waits for rows of known traces while it holds this lock. Throws EvidenceBrokenError if the table of agents and the log differ
 * in the ID or the name of one of these agents.
 * @param lockedHead the head of the evidence log, if the caller has locked it.
 */
export const registerAgents = (
  tx: Transaction,
  agents: readonly NewAgent[],
  lockedHead?: HeadToMove,
): Registration | Promise<Registration> => (agents.length === 0 ? NO_REGISTRATION : register(tx, agents, lockedHead));

async function register(tx: Transaction, agents: readonly NewAgent[], lockedHead: HeadToMove | undefined): Promise<Registration> {
  const head = lockedHead ?? (await lockLogs(tx, ['evidence'])).evidence;
  await requireTableMatchesLog(tx, head, agents);
  const digests = agents.slice(0, FILLED_MAX).map(({ name }) => skeletonDigests(name));
  const filledCount = ignoreRejection(fillSkeletons(tx));
  let similarNames = await findSimilarNames(tx, digests);
  // The first search did not find agents whose skeletons were missing until now.
  if ((await filledCount) > 0) similarNames = await findSimilarNames(tx, digests);
  const similar = new Map(agents.slice(0, FILLED_MAX).map(({ id }, index) => [id, similarNames[index]!]));
  addEarlierNames(similar, agents, digests);
  insertAgents(
    tx,
    agents.map((agent, index) => ({ ...agent, skeletons: digests[index] ?? null })),
  );
  const newHead = appendEvidence(
    tx,
    head,
    agents.map(({ id, name, recordedBy }) => ({
      action: 'agent.registered',
      agent_id: id,
      agent_name: name,
      recorded_by: recordedBy,
    })),
  );
  return {
    head: newHead,
    warn(outcome, registered) {
      if (outcome instanceof ApiError) return outcome;
      const similarAgents = registered.map(({ id, name }) => ({ name, similar: similar.get(id) ?? [] }));
      const warning = similarNameWarning(similarAgents);
      return warning === undefined ? outcome : { ...outcome, headers: { ...outcome.headers, [WARNING_HEADER]: warning } };
    },
  };
}

/**
 * Throws EvidenceBrokenError if the agents with these IDs or names in the table differ from those in the log. If the table and the log
 * have the same agent, a concurrent batch has registered it. In that case the unique index rejects the insert, and the batch is retried.
 */
async function requireTableMatchesLog(tx: Transaction, head: HeadToMove, agents: readonly NewAgent[]): Promise<void> {
  const rows = await findAgents(
    tx,
    agents.map(({ id }) => id),
    agents.map(({ name }) => name),
  );
  const state = await evidenceStates.atHead(tx, head);
  const logged = findLoggedAgents(state, agents);
  const isSame = (one: Agent) => (other: Agent) => one.id === other.id && one.name === other.name;
  const unexpectedRow = rows.find((row) => !logged.some(isSame(row)));
  if (unexpectedRow !== undefined)
    throw new EvidenceBrokenError(
      `agents: the row ${unexpectedRow.id} of tenant ${tx.tenantId} differs from the log \`evidence\``,
    );
  const missingAgent = logged.find((known) => !rows.some(isSame(known)));
  if (missingAgent !== undefined)
    throw new EvidenceBrokenError(
      `agents: the row ${missingAgent.id} of tenant ${tx.tenantId} is missing, or its name was changed`,
    );
}

/** The agents in the log that have one of these IDs or names. */
export function findLoggedAgents(state: EvidenceState, claims: readonly { id: string | null; name: string | null }[]): Agent[] {
  const agentsById = new Map<string, Agent>();
  for (const { id, name } of claims) {
    for (const agent of [id === null ? undefined : state.agent(id), name === null ? undefined : state.agentNamed(name)])
      if (agent !== undefined)
        agentsById.set(agent.id, { id: agent.id, name: agent.name, isHighRisk: agent.riskLevel === 'high' });
  }
  return [...agentsById.values()];
}

/**
 * Adds to each agent the names of two earlier agents of the batch: the first one with the same skeleton, and the first one with the same
 * caseless skeleton. An agent gets at most SIMILAR_MAX names.
 */
function addEarlierNames(
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
