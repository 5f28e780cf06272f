import type { RelatedRuns } from '@countersign/core/portal/evaluation-routes';
import type { RunTotals } from '@countersign/core/portal/run-facts';
import type { UsageDay } from '@countersign/core/portal/workspace-routes';
import { FENCE } from '../../database/planner.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { dollarsText } from './fragments.ts';
import { idRange, type TimeRange } from './id-time.ts';
import { isCurrentSpan } from './spans.ts';

/** The sums as read. The sum of tokens is text, because it may exceed bigint. It becomes a number, which is precise enough for display. */
interface TotalsRow extends Omit<RunTotals, 'total_tokens'> {
  total_tokens: string;
}

const totalsOf = <Row extends TotalsRow>(row: Row): Omit<Row, 'total_tokens'> & { total_tokens: number } => ({
  ...row,
  total_tokens: Number(row.total_tokens),
});

const SUMS = `count(*) AS runs, count(*) FILTER (WHERE outcome <> 'success') AS failures,
  count(*) FILTER (WHERE outcome IS NULL) AS unfinished, count(*) FILTER (WHERE has_error) AS errors,
  coalesce(sum(total_tokens), 0)::text AS total_tokens, ${dollarsText('coalesce(sum(cost_usd), 0)')} AS cost_usd`;

const BY_DAY = sql<TotalsRow & { day: string }>(
  'portal_sum_runs_by_day',
  `SELECT to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, ${SUMS}
     FROM (SELECT received_at, outcome, has_error, total_tokens, cost_usd FROM countersign.traces
            WHERE tenant_id = $1 AND id >= $2 AND received_at >= $3::timestamptz
            UNION ALL
           SELECT received_at, outcome, has_error, total_tokens, cost_usd FROM countersign.telemetry_events
            WHERE tenant_id = $1 AND submission >= $2 AND received_at >= $3::timestamptz) AS run
    GROUP BY 1 ORDER BY 1`,
);

/** The sums over the runs that were received at `from` or later, for each day in UTC. Days without runs are omitted. */
export async function sumRunsByDay(tx: Transaction, from: string): Promise<UsageDay[]> {
  const [lowest] = idRange({ from, to: null });
  return (await tx.run(BY_DAY, [tx.tenantId, lowest, from])).map(totalsOf);
}

/** The maximum number of traces, and of telemetry events, in the totals of an agent. */
export const COUNTED_RUNS_MAX = 10_000;

const runsOfAgent = (table: string, id: string, columns: string, limit: number): string =>
  `(SELECT ${columns} FROM countersign.${table} AS r
     WHERE r.tenant_id = $1 AND r.agent_id = $2 AND r.${id} >= $3 AND r.${id} <= $4
       AND coalesce(r.received_at >= $5::timestamptz, true) AND coalesce(r.received_at < $6::timestamptz, true)
     ORDER BY r.${id} DESC LIMIT ${limit})`;

const COUNTED = 'r.outcome, r.has_error, r.total_tokens, r.cost_usd';

const OF_AGENT = sql<TotalsRow>(
  'portal_sum_runs_of_agent',
  `SELECT ${SUMS} FROM (
     ${runsOfAgent('traces', 'id', COUNTED, COUNTED_RUNS_MAX)} UNION ALL
     ${runsOfAgent('telemetry_events', 'submission', COUNTED, COUNTED_RUNS_MAX)}) AS run`,
);

/** The sums over the latest COUNTED_RUNS_MAX traces, and as many telemetry events, of an agent in a range of time. */
export async function sumRunsOfAgent(tx: Transaction, agentId: string, range: TimeRange): Promise<RunTotals> {
  const [row] = await tx.run(OF_AGENT, [tx.tenantId, agentId, ...idRange(range), range.from, range.to]);
  return totalsOf(row!);
}

/** The limits of the search for models: runs of each source, submissions of each trace, total bytes of the facts of steps, and models. */
const MODEL_RUNS_MAX = 200;
const MODEL_SUBMISSIONS_MAX = 50;
const MODEL_BYTES_MAX = 4 * 1024 * 1024;
const MODELS_MAX = 50;

// `octet_length` reads only the stored size of a long text, so texts that are left out are not read.
const READ_SUBMISSIONS = `
  SELECT t.id AS trace, t.submission_count, s.number, s.spans,
         sum(octet_length(s.spans)) OVER (ORDER BY t.id DESC, s.number DESC) - octet_length(s.spans) AS bytes_before
    FROM ${runsOfAgent('traces', 'id', 'r.id, r.submission_count', MODEL_RUNS_MAX)} AS t
   CROSS JOIN LATERAL (SELECT number, spans FROM countersign.trace_submissions AS x WHERE x.tenant_id = $1 AND x.trace = t.id
                        ORDER BY number DESC LIMIT ${MODEL_SUBMISSIONS_MAX}) AS s`;

const MODELS = sql<RelatedRuns['models'][number]>(
  'portal_list_models_of_agent',
  `SELECT model, count(*) AS steps FROM (
     SELECT step.model FROM (
       SELECT submission.trace, submission.submission_count, submission.number, span.fields ->> 0 AS span_id, span.fields ->> 4 AS model
         FROM (${READ_SUBMISSIONS}) AS submission
        CROSS JOIN LATERAL json_array_elements(submission.spans::json) AS span (fields)
        WHERE submission.bytes_before < ${MODEL_BYTES_MAX} AND span.fields ->> 4 IS NOT NULL ${FENCE}) AS step
      WHERE step.submission_count = 1 OR ${isCurrentSpan('step.trace', 'step.span_id', 'step.number')}
     UNION ALL
     SELECT e.model FROM ${runsOfAgent('telemetry_events', 'submission', 'r.model', MODEL_RUNS_MAX)} AS e WHERE e.model IS NOT NULL) AS named
    GROUP BY model ORDER BY steps DESC, model LIMIT ${MODELS_MAX}`,
);

const countUpToLimit = (table: string, id: string): string =>
  `(SELECT count(*)::integer FROM ${runsOfAgent(table, id, `r.${id}`, MODEL_RUNS_MAX + 1)} AS counted)`;

/** The sizes that are compared with the limits of the search for models. */
interface SearchSizes {
  /** At most one more than MODEL_RUNS_MAX, like `events`. */
  traces: number;
  events: number;
  /** The largest number of submissions of a trace. */
  submissions: number;
  /** The total bytes of the facts of steps, without the submission that is searched last. */
  bytes: number;
}

const SIZES = sql<SearchSizes>(
  'portal_measure_search_for_models',
  `SELECT ${countUpToLimit('traces', 'id')} AS traces, ${countUpToLimit('telemetry_events', 'submission')} AS events,
          coalesce(max(submission_count), 0)::integer AS submissions, coalesce(max(bytes_before), 0)::integer AS bytes
     FROM (${READ_SUBMISSIONS}) AS submission`,
);

const isWithinLimits = ({ traces, events, submissions, bytes }: SearchSizes): boolean =>
  Math.max(traces, events) <= MODEL_RUNS_MAX && submissions <= MODEL_SUBMISSIONS_MAX && bytes < MODEL_BYTES_MAX;

/**
 * The models that an agent's latest runs in a range of time used, at most MODELS_MAX, each with its number of steps and events, most used
 * first. They count as complete if no limit left out a run or a submission, and there are fewer than MODELS_MAX models.
 */
export async function listModelsOfAgent(
  tx: Transaction,
  agentId: string,
  range: TimeRange,
): Promise<Pick<RelatedRuns, 'models' | 'models_complete'>> {
  const values = [tx.tenantId, agentId, ...idRange(range), range.from, range.to];
  const [models, [sizes]] = await Promise.all([tx.run(MODELS, values), tx.run(SIZES, values)]);
  return { models, models_complete: isWithinLimits(sizes!) && models.length < MODELS_MAX };
}
