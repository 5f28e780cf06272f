import type { Span } from '@countersign/core/contract/trace';
import { messagesOfEvents } from '@countersign/core/otlp/event-messages';
import type { Finding } from '@countersign/core/otlp/findings';
import { parseContentEvent } from '@countersign/core/otlp/map-logs';
import { MESSAGES_FROM } from '@countersign/core/otlp/map-span';
import type { RunFinding, SpanRow } from '@countersign/core/portal/run-routes';
import type { RecordOfSpan, SpanWithRecords, StoredFinding } from '../storage/portal/log-records.ts';

/** A finding of a run, for its page. */
export function findingRow({ document, ...row }: StoredFinding): RunFinding {
  const { name, score, label, explanation } = JSON.parse(document) as Finding;
  return { ...row, name, score, label, explanation };
}

/**
 * Merges a step with its log records. Messages from log records are used if the step has no messages, or has messages only from its
 * events. The error of an exception record is used if the step has no error.
 */
export function withRecords(span: Span, records: readonly RecordOfSpan[]): Span {
  const events = records.filter(({ kind }) => kind === 'content').map(({ document }) => parseContentEvent(document));
  const messages = messagesOfEvents(events);
  const mayReplaceMessages = span.messages == null || span.metadata?.[MESSAGES_FROM] !== undefined;
  const exception = records.find(({ kind }) => kind === 'exception');
  const error = exception === undefined ? undefined : (JSON.parse(exception.document) as { error: string }).error;
  return {
    ...span,
    ...(messages.length > 0 && mayReplaceMessages ? { messages } : {}),
    ...(error !== undefined && span.error == null ? { error } : {}),
  };
}

/**
 * Rows of steps with the additions from their log records: an error that the step does not report, the status `error`, and whether it has
 * content.
 */
export function rowsWithRecords(rows: SpanRow[], records: readonly SpanWithRecords[]): SpanRow[] {
  if (records.length === 0) return rows;
  const bySpan = new Map(records.map((each) => [each.span_id, each]));
  return rows.map((row) => {
    const additions = bySpan.get(row.span_id);
    if (additions === undefined) return row;
    const exception = additions.exception === null ? null : startOfError(additions.exception);
    const error = row.error ?? exception?.text ?? null;
    const status = additions.exception === null ? row.status : 'error';
    return { ...row, error, status, has_payload: row.has_payload || additions.has_content || exception?.isCut === true };
  });
}

/** Matches the start of an exception record, up to 2,000 characters of the error. The end of the document may be missing. */
const START_OF_ERROR = /^\{"error":"((?:[^"\\]|\\u.{4}|\\[^u]){0,2000})/su;

/** The first 2,000 characters of the error in the start of an exception record, and whether the error is longer. */
function startOfError(document: string): { text: string; isCut: boolean } {
  const [start = '', text = ''] = START_OF_ERROR.exec(document) ?? [];
  return { text: JSON.parse(`"${text}"`), isCut: document[start.length] !== '"' };
}
