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
 * Runs that have a text in their trace_id or in the name of their agent, upper and lower case alike, or whose session it is: those behind
 * a place, newest first, at most `limit`. Each of the three is found by an index of its own.
 */
export async function searchRuns(
  tx: Transaction,
  filter: RunFilter,
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  const sources = (['trace', 'telemetry'] as const).filter((source) => filter.source === null || filter.source === source);
  const found = await Promise.all([
    ...sources.map((source) => runsByTraceId(tx, { ...filter, source }, text, after, limit)),
    runsOfSession(tx, filter, text, after, limit),
    runsOfAgentsNamed(tx, filter, text, after, limit),
  ]);
  const byPlace = new Map(found.flat().map((run) => [`${run.source} ${run.id} ${run.ordinal}`, run]));
  return [...byPlace.values()].sort((left, right) => newestFirst(placeOf(left), placeOf(right))).slice(0, limit);
}

/** The place of a run in the list. */
export const placeOf = ({ id, ordinal }: Pick<RunSummary, 'id' | 'ordinal'>): RunPlace => ({ id, ordinal: ordinal ?? 0 });

/** Places that are looked up at a time, beyond those of a page. */
const LOOKED_UP = 200;

async function runsByTraceId(
  tx: Transaction,
  filter: RunFilter & { source: RunSource },
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  const range = idRange(filter);
  const { places, complete, newest } = await findRunsByTraceId(tx, { source: filter.source, text, range, after });
  const runs: RunSummary[] = [];
  const step = limit + LOOKED_UP;
  for (let start = 0; start < places.length && runs.length < limit; start += step)
    runs.push(...(await listRunsAtPlaces(tx, filter, places.slice(start, start + step), after, limit)));
  if (complete || runs.length >= limit) return runs.slice(0, limit);
  // Many runs have the text, so that a page of them is near. Newer runs than these need not be looked at.
  return walkRunsWithText(tx, filter, { text, newest }, after, limit);
}

/** Those whose session has the text as its id. */
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

/** Those of agents that have the text in their name. */
async function runsOfAgentsNamed(
  tx: Transaction,
  filter: RunFilter,
  text: string,
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> {
  const named = await findAgentIdsByName(tx, text);
  const agents = filter.agentId === null ? named : named.filter((id) => id === filter.agentId);
  return agents.length === 0 ? [] : listRunsOfAgents(tx, filter, agents, after, limit);
}
