import type { Trace } from '@countersign/core/contract/trace';
import { type AgentClaim, agentClaim } from '@countersign/core/domain/agent-claim';
import { MergedTrace, type TraceColumns } from '@countersign/core/domain/merged-trace';
import { SumTooLargeError } from '@countersign/core/domain/usage';
import { AGENT_RANK } from '@countersign/core/otlp/agent-rank';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { HIGHEST_ID, idAfter, LOWEST_ID } from '../storage/id-range.ts';
import { digestOfSpans } from '../storage/merged-spans-check.ts';
import { factsOfSpan, spansText } from '../storage/spans.ts';
import { listTraceColumns, readTraceSubmissions, type StoredSubmission, type StoredTrace } from '../storage/trace-columns.ts';
import type { SubmissionPlace } from '../storage/trace-rows.ts';
import { findNamedAgents, isNamedAgent } from './named-agents.ts';
import { submissionName } from './row-findings.ts';
import { parsedDocument } from './stored-document.ts';

/** A row that differs from its documents. */
export interface ColumnFinding {
  table: 'traces' | 'trace_submissions' | 'merged_spans' | 'merged_traces';
  /** The trace's `id`; for a submission, the result of `submissionName`. */
  id: string;
  fault: string;
}

/** A finding with the `id` of its trace. */
interface Difference extends ColumnFinding {
  trace: string;
}

/**
 * Compares the rows of all traces with their stored documents, page by page. The caller has compared the documents with the log. A trace
 * that differs is compared again: between two statements, a log record may have been added to it, or the trace may have been dropped.
 */
export async function* compareTraceColumns(pool: Pool, tenantId: string): AsyncGenerator<ColumnFinding[]> {
  for (let from: string | undefined = LOWEST_ID; from !== undefined; ) {
    const page: { differences: Difference[]; last: string | undefined } = await comparePage(pool, tenantId, from, HIGHEST_ID);
    const findings: ColumnFinding[] = [];
    for (const trace of new Set(page.differences.map((each) => each.trace))) {
      const secondPage = await comparePage(pool, tenantId, trace, trace);
      findings.push(...secondPage.differences.map(({ table, id, fault }) => ({ table, id, fault })));
    }
    yield findings;
    from = page.last && idAfter(page.last);
  }
}

async function comparePage(
  pool: Pool,
  tenantId: string,
  from: string,
  upTo: string,
): Promise<{ differences: Difference[]; last: string | undefined }> {
  // The rows are read before the submissions, so that every submission that a row counts is stored when the submissions are read.
  const rows = await inTenantTransaction(pool, tenantId, (tx) => listTraceColumns(tx, from, upTo));
  const last = rows.at(-1)?.id;
  if (last === undefined) return { differences: [], last };
  const merging = new Map(
    rows.map((row) => [row.id, { row, merged: new MergedTrace(), claims: [] as AgentClaim[], isPartial: false }]),
  );
  const differences: Difference[] = [];
  for await (const submission of readSubmissions(pool, tenantId, from, last)) {
    const trace = merging.get(submission.id);
    if (trace === undefined || submission.number > trace.row.submissionCount) continue;
    const document = parsedDocument(submission.document ?? '') as Trace | undefined;
    const name = submissionName(submission.id, submission.number);
    if (document === undefined || !hasSameSpans(document, submission)) {
      const fault = 'the column spans differs from its document';
      differences.push({ table: 'trace_submissions', id: name, fault, trace: submission.id });
    }
    if (document === undefined) continue;
    trace.merged.add({ ...submission, document });
    trace.claims.push(agentClaim(document));
    trace.isPartial ||= submission.isPartial;
  }
  const traces = [...merging.values()];
  const named = await inTenantTransaction(pool, tenantId, (tx) =>
    findNamedAgents(
      tx,
      traces.map(({ claims }) => claims),
    ),
  );
  for (const [index, { row, merged, isPartial }] of traces.entries()) {
    const fault = rowFault(row, merged, isPartial) ?? agentFault(row.agentId, named[index]!);
    if (fault !== undefined) differences.push({ table: 'traces', id: row.id, fault, trace: row.id });
    else differences.push(...stepFaults(row, merged).map((found) => ({ ...found, id: row.id, trace: row.id })));
  }
  return { differences, last };
}

async function* readSubmissions(pool: Pool, tenantId: string, from: string, last: string): AsyncGenerator<StoredSubmission> {
  let after: SubmissionPlace = { id: from, number: 0 };
  for (;;) {
    const page = await inTenantTransaction(pool, tenantId, (tx) => readTraceSubmissions(tx, after, last));
    if (page.length === 0) return;
    after = page.at(-1)!;
    yield* page;
  }
}

function hasSameSpans({ spans }: Trace, submission: StoredSubmission): boolean {
  try {
    return spansText((spans ?? []).map(factsOfSpan)) === submission.spans;
  } catch (error) {
    if (error instanceof SumTooLargeError) return false;
    throw error;
  }
}

/** The fault of the first column that differs from the documents; undefined if none does. */
function rowFault(row: StoredTrace, merged: MergedTrace, isPartial: boolean): string | undefined {
  let expected: TraceColumns | undefined;
  try {
    expected = merged.columns();
  } catch (error) {
    if (error instanceof SumTooLargeError) return `its documents have a larger sum than the server accepts: ${error.message}`;
    throw error;
  }
  if (expected === undefined) return 'none of its submissions is stored, so the row was added outside the server';
  // A log record can report an exception that the documents do not contain.
  const hasError = expected.hasError || (row.hasError && row.hasException);
  // Documents that were mapped from OpenTelemetry exports do not contain these two values.
  const ofAgent = isPartial ? {} : { agentRank: AGENT_RANK.claimed, provisionalAgentName: null };
  const derived = columnsOf({ ...expected, hasError, ...ofAgent });
  const stored = columnsOf({ ...row, ...(isPartial ? { agentRank: undefined, provisionalAgentName: undefined } : {}) });
  const differing = Object.keys(derived).find((column) => derived[column] !== stored[column]);
  return differing === undefined
    ? undefined
    : `the column ${differing} is ${valueText(stored[differing])}, its documents say ${valueText(derived[differing])}`;
}

/**
 * The fault of a trace's agent; undefined if the trace may have this agent (`isNamedAgent`). The submissions of one trace may name
 * different agents if some of them were mapped from OpenTelemetry exports.
 */
const agentFault = (agentId: string | null, named: ReadonlySet<string>): string | undefined =>
  isNamedAgent(agentId, named)
    ? undefined
    : `agent_id is ${agentId}, its documents name ${[...named].join(' or ') || 'no agent'}`;

/** The faults of the rows of steps, which are merged from several submissions. A trace with one submission has no such rows. */
function stepFaults(row: StoredTrace, merged: MergedTrace): Pick<ColumnFinding, 'table' | 'fault'>[] {
  const expected = row.submissionCount === 1 ? null : digestOfSpans(merged.spans);
  const faults: Pick<ColumnFinding, 'table' | 'fault'>[] = [];
  if (row.stepsDigest !== expected)
    faults.push({ table: 'merged_spans', fault: 'the steps of this trace differ from its newest submissions' });
  if (!row.hasSumsOfSteps) faults.push({ table: 'merged_traces', fault: 'the sums of this trace differ from its steps' });
  return faults;
}

const valueText = (value: unknown): string => (typeof value === 'bigint' ? `${value} µs since 1970` : JSON.stringify(value));

/** The columns by their names in the database. */
const columnsOf = (row: TraceColumns & { agentRank?: number | undefined; provisionalAgentName?: string | null | undefined }) => {
  const { supplied, totals, ...others } = row;
  const columns: Record<string, unknown> = {};
  const names = [
    'outcome',
    'outcomeRank',
    'sessionId',
    'externalUserId',
    'latencyMs',
    'hasError',
    'startedAt',
    'endedAt',
  ] as const;
  const more = ['spanCount', 'submissionCount', 'receivedAt', 'lastSpanAt', 'agentRank', 'provisionalAgentName'] as const;
  for (const name of [...names, ...more]) columns[columnName(name)] = others[name];
  for (const [prefix, usage] of [
    ['supplied_', supplied],
    ['', totals],
  ] as const)
    for (const [name, value] of Object.entries(usage)) columns[prefix + columnName(name)] = value;
  return columns;
};

const columnName = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
