import {
  TelemetryEvent as EventSchema,
  type Telemetry,
  type TelemetryEvent,
  telemetryEvents,
} from '@countersign/core/contract/telemetry';
import { type Span, Span as SpanSchema, type Trace } from '@countersign/core/contract/trace';
import type { Payload, SpanRow, TraceDetail } from '@countersign/core/portal/run-routes';
import { type RowFinding, submissionName, UNREADABLE_DOCUMENT } from '../ledger/row-findings.ts';
import type { SubmissionDocument } from '../storage/portal/run-details.ts';
import type { StoredSpan } from '../storage/portal/spans.ts';
import { beginningOf } from './shown-text.ts';

/** The largest length of an error in a row of the tree, in code points. */
const ERROR_LENGTH_MAX = 2000;

/**
 * The members of the contract that a payload contains. A payload also contains all members that the contract does not name. The page shows
 * the other members of the contract elsewhere.
 */
const PAYLOAD_MEMBERS = ['input', 'output', 'messages', 'tool_arguments', 'tool_result', 'error', 'metadata'] as const;
/** The members that the contract names. */
const CONTRACT_MEMBERS = {
  span: new Set(Object.keys(SpanSchema.properties)),
  event: new Set(Object.keys(EventSchema.properties)),
};

/** The payload of a step or an event. A member that is `null` counts as not sent. */
export function payloadOf(sent: object, kind: keyof typeof CONTRACT_MEMBERS): Payload {
  const members = Object.entries(sent).filter(([, value]) => value !== null);
  const namedMembers = members.filter(([name]) => (PAYLOAD_MEMBERS as readonly string[]).includes(name));
  const otherMembers = members.filter(([name]) => !CONTRACT_MEMBERS[kind].has(name));
  return {
    ...Object.fromEntries(namedMembers),
    ...(otherMembers.length > 0 ? { others: Object.fromEntries(otherMembers) } : {}),
  };
}

const spansIn = (document: string): Span[] => (JSON.parse(document) as Trace).spans ?? [];

/** The step at an index of a trace's submission. */
export const spanIn = (document: string, ordinal: number): Span => spansIn(document)[ordinal]!;

/** The event at an index of a telemetry submission. */
export const eventIn = (document: string, ordinal: number): TelemetryEvent =>
  telemetryEvents(JSON.parse(document) as Telemetry)[ordinal]!;

/** The rows of a trace that differ from the trace log: rows that the last comparison found, and documents that cannot be read now. */
export function differingRowsOfTrace(
  trace: string,
  documents: readonly SubmissionDocument[],
  findings: readonly RowFinding[],
): RowFinding[] {
  const unreadable = documents.flatMap(({ number, document }) =>
    document === undefined ? [{ table: 'trace_submissions', id: submissionName(trace, number), fault: UNREADABLE_DOCUMENT }] : [],
  );
  const unreadableIds = new Set(unreadable.map(({ id }) => id));
  return [...unreadable, ...findings.filter(({ id }) => id.startsWith(trace) && !unreadableIds.has(id))];
}

/** The steps of the tree, from columns and documents. Each document is parsed once. */
export function spanRows(
  spans: readonly StoredSpan[],
  documents: readonly SubmissionDocument[],
  firstPosition: number,
): SpanRow[] {
  const spansBySubmission = new Map(
    documents.flatMap(({ number, document }) => (document === undefined ? [] : [[number, spansIn(document)]])),
  );
  return spans.map(({ submission, ordinal, document_bytes: _, ...columns }, index) => {
    const span = spansBySubmission.get(submission)?.[ordinal];
    const error = beginningOf(span?.error ?? null, ERROR_LENGTH_MAX);
    return {
      ...columns,
      parent_span_id: span?.parent_span_id ?? null,
      position: firstPosition + index,
      error,
      // The row shows the beginning of the error. A payload with only an error counts only if the row does not show the whole error.
      has_payload:
        span !== undefined &&
        Object.entries(payloadOf(span, 'span')).some(([name, value]) => name !== 'error' || value !== error),
    };
  });
}

/** The last detail, error and metadata in submissions. The documents must be in the order of the submissions. */
export function lastReported(documents: readonly SubmissionDocument[]): Pick<TraceDetail, 'detail' | 'error' | 'metadata'> {
  const traces = documents.flatMap(({ document }) => (document === undefined ? [] : [JSON.parse(document) as Trace]));
  const last = <M extends 'detail' | 'error' | 'metadata'>(member: M): Trace[M] | null =>
    traces.findLast((trace) => (trace[member] ?? null) !== null)?.[member] ?? null;
  return { detail: last('detail') ?? null, error: last('error') ?? null, metadata: last('metadata') ?? null };
}
