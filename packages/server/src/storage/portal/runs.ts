import type { RunSource, RunSummary } from '@countersign/core/portal/run-facts';
import { int4Array, uuidArray } from '../../database/binary-array.ts';
import { FENCE, notEstimated } from '../../database/planner.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { HIGHEST_ID } from '../id-range.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, dollarsText, lookUp } from './fragments.ts';
import { idRange, type TimeRange } from './id-time.ts';

/** A filter of runs. A member that is null does not filter. */
export interface RunFilter extends TimeRange {
  source: RunSource | null;
  agentId: string | null;
  outcome: string | null;
  sessionId: string | null;
}

/**
 * The place of a run in the list. For a trace: its ID and 0. For a telemetry event: the ID of its request, and its position in the request.
 */
export interface RunPlace {
  id: string;
  ordinal: number;
}

/** The place before all runs. */
export const FIRST_PLACE: RunPlace = { id: HIGHEST_ID, ordinal: 0 };

/** How long after its last span a trace without its root span becomes incomplete. */
const ARRIVING = `interval '15 minutes'`;
const IS_ARRIVING = `r.outcome IS NULL AND r.last_span_at > clock_timestamp() - ${ARRIVING}`;

/** SQL for the current outcome of a trace. Without the root span it is null while spans arrive, and later `incomplete`. */
const TRACE_OUTCOME = `CASE WHEN r.outcome IS NOT NULL THEN r.outcome WHEN NOT (${IS_ARRIVING}) THEN 'incomplete' END AS outcome`;

/** SQL for the columns that traces and telemetry events share, from a row `r` and its agent `a`. */
const SHARED_COLUMNS = `r.trace_id, ${agentJson('a')} AS agent, r.has_error, r.session_id, r.external_user_id, r.latency_ms,
  r.prompt_tokens, r.completion_tokens, r.total_tokens, ${dollarsText('r.cost_usd')} AS cost_usd, ${instantText('r.started_at')} AS started_at,
  ${instantText('r.ended_at')} AS ended_at, ${instantText('r.received_at')} AS received_at`;
/** SQL for the columns of a trace, from a row `r` and its agent `a`. */
export const TRACE_COLUMNS = `${SHARED_COLUMNS}, ${TRACE_OUTCOME}, CASE WHEN r.agent_id IS NULL THEN r.provisional_agent_name END AS provisional_agent_name`;
/** SQL for the columns of a telemetry event, from a row `r` and its agent `a`. */
export const EVENT_COLUMNS = `${SHARED_COLUMNS}, r.outcome, NULL::text AS provisional_agent_name`;

const AGENT_OF_RUN = lookUp('agents', 'a', 'id', 'r.agent_id');

// The range of IDs already limits the time. If the planner estimated these two conditions as well, it would expect too few rows: for a
// filter of one day, a thirtieth of the actual number. It would then sort all rows of the day instead of reading the index in order.
const FILTERS = `${notEstimated('r.received_at >= $7::timestamptz')} AND ${notEstimated('r.received_at < $8::timestamptz')}
  AND ($9::uuid IS NULL OR r.agent_id = $9) AND ($11::text IS NULL OR r.session_id = $11)`;

const TRACES = `r.tenant_id = $1 AND coalesce($2::text, 'trace') = 'trace' AND r.id < $3 AND r.id >= $5 AND r.id <= $6 AND ${FILTERS}
  AND ($10::text IS NULL OR r.outcome = $10 OR ($10 = 'arriving' AND ${IS_ARRIVING})
    OR ($10 = 'incomplete' AND r.outcome IS NULL AND NOT (${IS_ARRIVING})))`;
const EVENTS = `r.tenant_id = $1 AND coalesce($2::text, 'telemetry') = 'telemetry' AND (r.submission, r.ordinal) < ($3, $4)
  AND r.submission >= $5 AND r.submission <= $6 AND ${FILTERS}
  AND ($10::text IS NULL OR r.outcome = $10)`;

// Before the two halves are merged, each is limited to the size of the page, in the order of its own index. The plan is made for the given
// values (database/planner.ts), so a filter that is null adds no condition, and the partial indexes can be used.
const selectRuns = (traces: string, events: string): string =>
  `SELECT * FROM (
     (SELECT 'trace' AS source, r.id, NULL::integer AS ordinal, ${TRACE_COLUMNS}, r.span_count, NULL::bigint AS tool_count, NULL AS model
        FROM (SELECT r.* ${traces} ORDER BY r.id DESC LIMIT $12) AS r ${AGENT_OF_RUN})
     UNION ALL
     (SELECT 'telemetry', r.submission, r.ordinal, ${EVENT_COLUMNS}, NULL, r.tool_count, r.model
        FROM (SELECT r.* ${events} ORDER BY r.submission DESC, r.ordinal DESC LIMIT $12) AS r ${AGENT_OF_RUN})) AS run
    ORDER BY id DESC, ordinal DESC LIMIT $12`;

const LIST = sql<RunSummary>(
  'portal_list_runs',
  selectRuns(`FROM countersign.traces AS r WHERE ${TRACES}`, `FROM countersign.telemetry_events AS r WHERE ${EVENTS}`),
);

/** Traces and telemetry events after a place, newest first, at most `limit`. */
export const listRuns = (tx: Transaction, filter: RunFilter, after: RunPlace, limit: number): Promise<RunSummary[]> =>
  tx.run(LIST, listValues(tx, filter, after, limit));

// The condition on the text comes last, because it has no index.
const HAS_TEXT = `strpos(lower(r.trace_id COLLATE "default"), lower($13::text)) > 0`;
const LIST_WITH_TEXT = sql<RunSummary>(
  'portal_list_runs_with_text',
  selectRuns(
    `FROM countersign.traces AS r WHERE ${TRACES} AND ${HAS_TEXT}`,
    `FROM countersign.telemetry_events AS r WHERE ${EVENTS} AND ${HAS_TEXT}`,
  ),
);

/**
 * Like `listRuns`, for runs whose trace_id contains a text, ignoring case, and whose ID is at most `newest`. It reads the list in order,
 * so use it only for common texts.
 */
export const walkRunsWithText = (
  tx: Transaction,
  filter: RunFilter,
  { text, newest }: { text: string; newest: string },
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> => tx.run(LIST_WITH_TEXT, [...listValues(tx, filter, after, limit, newest), text]);

// For each agent, at most one page of rows is read, in the order of the index.
const ofAgents = (table: string, condition: string, order: string): string =>
  `FROM unnest($13::uuid[]) AS input (agent_id) CROSS JOIN LATERAL (
     SELECT * FROM countersign.${table} AS r WHERE ${condition} AND r.agent_id = input.agent_id ORDER BY ${order} LIMIT $12) AS r`;
const LIST_OF_AGENTS = sql<RunSummary>(
  'portal_list_runs_of_agents',
  selectRuns(ofAgents('traces', TRACES, 'r.id DESC'), ofAgents('telemetry_events', EVENTS, 'r.submission DESC, r.ordinal DESC')),
);

/** Like `listRuns`, for the runs of these agents. */
export const listRunsOfAgents = (
  tx: Transaction,
  filter: RunFilter,
  agentIds: readonly string[],
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> => tx.run(LIST_OF_AGENTS, [...listValues(tx, filter, after, limit), uuidArray(agentIds)]);

// PostgreSQL makes one lookup in the primary key for each place.
const AT_PLACES = sql<RunSummary>(
  'portal_list_runs_at_places',
  selectRuns(
    `FROM unnest($13::uuid[]) AS place (id) CROSS JOIN LATERAL (
       SELECT * FROM countersign.traces AS r WHERE ${TRACES} AND r.id = place.id ${FENCE}) AS r`,
    `FROM unnest($13::uuid[], $14::integer[]) AS place (id, ordinal) CROSS JOIN LATERAL (
       SELECT * FROM countersign.telemetry_events AS r WHERE ${EVENTS} AND r.submission = place.id AND r.ordinal = place.ordinal ${FENCE}) AS r`,
  ),
);

/** Like `listRuns`, for the runs of one source at these places. */
export const listRunsAtPlaces = (
  tx: Transaction,
  filter: RunFilter & { source: RunSource },
  places: readonly RunPlace[],
  after: RunPlace,
  limit: number,
): Promise<RunSummary[]> =>
  tx.run(AT_PLACES, [
    ...listValues(tx, filter, after, limit),
    uuidArray(places.map(({ id }) => id)),
    int4Array(places.map(({ ordinal }) => ordinal)),
  ]);

function listValues(tx: Transaction, filter: RunFilter, after: RunPlace, limit: number, newest = HIGHEST_ID): unknown[] {
  const [lowest, latest] = idRange(filter);
  const highest = newest < latest ? newest : latest;
  const { source, from, to, agentId, outcome, sessionId } = filter;
  return [tx.tenantId, source, after.id, after.ordinal, lowest, highest, from, to, agentId, outcome, sessionId, limit];
}
