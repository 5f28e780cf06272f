import type { RunSource, RunSummary } from '@countersign/core/portal/run-facts';
import type { Transaction } from '../database/transaction.ts';
import { findAgentIdsByName } from '../storage/portal/agents.ts';
import { idRange } from '../storage/portal/id-time.ts';
import { findRunsByTraceId, newestFirst } from '../storage/portal/run-id-search.ts';
import {
  listRuns,
  listRunsAtPlaces,
  listRunsOfAgents,
  type RunFilter,
  type RunPlace,
  walkRunsWithText,
} from '../storage/portal/runs.ts';

/**
 * Finds runs after a position, newest first, at most `limit`. A run matches if its trace_id or the name of its agent contains the text,
 * ignoring case, or if its session ID equals the text. If more than 50 agents have such a name, only the first 50, sorted by name, are
 * used. Each of the three searches has its own index.
 */
export async function searchRuns(
  tx: Transaction,
  filter: RunFilter,
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  const sources = (['trace', 'telemetry'] as const).filter((source) => filter.source === null || filter.source === source);
  const results = await Promise.all([
    ...sources.map((source) => runsByTraceId(tx, { ...filter, source }, text, after, limit)),
    runsOfSession(tx, filter, text, after, limit),
    runsOfAgentsNamed(tx, filter, text, after, limit),
  ]);
  const byPlace = new Map(results.flat().map((run) => [`${run.source} ${run.id} ${run.ordinal}`, run]));
  return [...byPlace.values()].sort((left, right) => newestFirst(placeOf(left), placeOf(right))).slice(0, limit);
}

/** The position of a run in the list. */
export const placeOf = ({ id, ordinal }: Pick<RunSummary, 'id' | 'ordinal'>): RunPlace => ({ id, ordinal: ordinal ?? 0 });

/** The number of positions that are looked up at a time, in addition to the positions of a page. */
const EXTRA_POSITIONS = 200;

async function runsByTraceId(
  tx: Transaction,
  filter: RunFilter & { source: RunSource },
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  const range = idRange(filter);
  const { places, isComplete, newest } = await findRunsByTraceId(tx, { source: filter.source, text, range, after });
  const runs: RunSummary[] = [];
  const step = limit + EXTRA_POSITIONS;
  for (let start = 0; start < places.length && runs.length < limit; start += step)
    runs.push(...(await listRunsAtPlaces(tx, filter, places.slice(start, start + step), after, limit)));
  if (isComplete || runs.length >= limit) return runs.slice(0, limit);
  // Many runs match, so reading the list in order finds a page after few rows. It begins at `newest`, because no newer run matches.
  return walkRunsWithText(tx, filter, { text, newest }, after, limit);
}

/** Runs whose session ID is the text. */
async function runsOfSession(
  tx: Transaction,
  filter: RunFilter,
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  if (filter.sessionId !== null && filter.sessionId !== text) return [];
  return listRuns(tx, { ...filter, sessionId: text }, after, limit);
}

/** Runs of agents with the text in their name. */
async function runsOfAgentsNamed(
  tx: Transaction,
  filter: RunFilter,
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  const namedIds = await findAgentIdsByName(tx, text);
  const agentIds = filter.agentId === null ? namedIds : namedIds.filter((id) => id === filter.agentId);
  return agentIds.length === 0 ? [] : listRunsOfAgents(tx, filter, agentIds, after, limit);
}
