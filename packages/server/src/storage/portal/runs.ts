import type { RunSource, RunSummary } from '@countersign/core/portal/run-facts';
import { uuidArray } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, dollarsText, lookUp } from './fragments.ts';
import { HIGHEST_ID, idRange, type TimeRange } from './id-time.ts';
import { prefixEnd } from './text-prefix.ts';

/** Which runs of the list. Null lets everything through. */
export interface RunFilter extends TimeRange {
  source: RunSource | null;
  agentId: string | null;
  outcome: string | null;
  sessionId: string | null;
  text: string | null;
  /** Agents whose name has the text. */
  textAgents: readonly string[];
}

/** Where a page of runs ends: its last run. */
export interface RunPlace {
  id: string;
  ordinal: number;
}

/** What both kinds of runs have, of a row `r` with its agent `a`. */
export const RUN_COLUMNS = `r.trace_id, ${agentJson('a')} AS agent, r.outcome, r.has_error, r.session_id, r.external_user_id, r.latency_ms,
  r.prompt_tokens, r.completion_tokens, r.total_tokens, ${dollarsText('r.cost_usd')} AS cost_usd, ${instantText('r.started_at')} AS started_at,
  ${instantText('r.ended_at')} AS ended_at, ${instantText('r.received_at')} AS received_at`;

const AGENT_OF_RUN = lookUp('agents', 'a', 'id', 'r.agent_id');

// `coalesce` hides the moments from the planner: it would take them for another condition than the range of ids, expect a thirtieth of the
// rows of a day, and rather sort them all than walk the index.
const FILTERS = `coalesce(r.received_at >= $7::timestamptz, true) AND coalesce(r.received_at < $8::timestamptz, true)
  AND ($9::uuid IS NULL OR r.agent_id = $9) AND ($10::text IS NULL OR r.outcome = $10) AND ($11::text IS NULL OR r.session_id = $11)
  AND ($12::text IS NULL OR (r.trace_id >= $12 AND r.trace_id < $13) OR r.session_id = $12 OR r.agent_id = ANY ($14::uuid[]))`;

// Each half is cut to the page in the order of its own index before the two are merged. The plan is made for the values at hand
// (inReadTransaction): a filter that is not given is no condition then, and the partial indexes are seen to hold.
const LIST = sql<RunSummary>(
  'portal_list_runs',
  `SELECT * FROM (
     (SELECT 'trace' AS source, r.id, NULL::integer AS ordinal, ${RUN_COLUMNS}, r.span_count, NULL::bigint AS tool_count, NULL AS model
        FROM (SELECT * FROM countersign.traces AS r
               WHERE r.tenant_id = $1 AND coalesce($2::text, 'trace') = 'trace' AND r.id < $3 AND r.id >= $5 AND r.id <= $6 AND ${FILTERS}
               ORDER BY r.id DESC LIMIT $15) AS r ${AGENT_OF_RUN})
     UNION ALL
     (SELECT 'telemetry', r.submission, r.ordinal, ${RUN_COLUMNS}, NULL, r.tool_count, r.model
        FROM (SELECT * FROM countersign.telemetry_events AS r
               WHERE r.tenant_id = $1 AND coalesce($2::text, 'telemetry') = 'telemetry' AND (r.submission, r.ordinal) < ($3, $4)
                 AND r.submission >= $5 AND r.submission <= $6 AND ${FILTERS}
               ORDER BY r.submission DESC, r.ordinal DESC LIMIT $15) AS r ${AGENT_OF_RUN})) AS run
    ORDER BY id DESC, ordinal DESC LIMIT $15`,
);

/** Traces and telemetry events behind a place, newest first, at most `limit`. */
export function listRuns(tx: Transaction, filter: RunFilter, after: RunPlace | null, limit: number): Promise<RunSummary[]> {
  const [lowest, highest] = idRange(filter);
  return tx.run(LIST, [
    tx.tenantId,
    filter.source,
    after?.id ?? HIGHEST_ID,
    after?.ordinal ?? 0,
    lowest,
    highest,
    filter.from,
    filter.to,
    filter.agentId,
    filter.outcome,
    filter.sessionId,
    filter.text,
    filter.text === null ? null : prefixEnd(filter.text),
    uuidArray(filter.textAgents),
    limit,
  ]);
}
