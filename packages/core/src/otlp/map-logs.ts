import { errorOf } from './accepted-values.ts';
import { type ContentEvent, isContentEvent } from './event-messages.ts';
import { findingOf } from './findings.ts';
import type { LogRecord, Value } from './records.ts';

/** The kind of a log record that belongs to a span. */
export type LogKind = 'content' | 'exception' | 'finding';

/** A log record to be stored. */
export interface MappedLog {
  traceId: string;
  spanId: string;
  kind: LogKind;
  /** Nanoseconds since 1970; undefined when not sent. */
  time: bigint | undefined;
  /** JSON text: a ContentEvent, `{"error": …}` for an exception, or a Finding. */
  document: string;
}

/** The log records of an export that contain messages, an exception or a finding of a span. All others are omitted. */
export const mapLogs = (records: readonly LogRecord[]): MappedLog[] => records.flatMap(mapLog);

function mapLog(record: LogRecord): MappedLog[] {
  const { traceId, spanId, time } = record;
  if (traceId === '' || spanId === '') return [];
  const event = { name: nameOf(record), attributes: record.attributes, body: record.body };
  const content = contentOf(event);
  return content === undefined ? [] : [{ traceId, spanId, time, ...content }];
}

function contentOf(event: ContentEvent): Pick<MappedLog, 'kind' | 'document'> | undefined {
  const { name, attributes, body } = event;
  if (isContentEvent(name)) {
    return { kind: 'content', document: JSON.stringify({ name, attributes: Object.fromEntries(attributes), body }) };
  }
  const finding = findingOf(event);
  if (finding !== undefined) return { kind: 'finding', document: JSON.stringify(finding) };
  const [message, type] = [attributes.get('exception.message'), attributes.get('exception.type')];
  if ((message ?? type ?? null) === null) return undefined;
  return { kind: 'exception', document: JSON.stringify({ error: errorOf(message) ?? errorOf(type) ?? '' }) };
}

/** The name of the event. Older senders send it as the attribute `event.name`. */
function nameOf({ eventName, attributes }: LogRecord): string {
  const attribute = attributes.get('event.name');
  return eventName !== '' ? eventName : typeof attribute === 'string' ? attribute : '';
}

/** Parses the document of a stored record of the kind `content`. */
export function parseContentEvent(document: string): ContentEvent {
  const { name, attributes, body } = JSON.parse(document) as { name: string; attributes: Record<string, Value>; body: Value };
  return { name, attributes: new Map(Object.entries(attributes)), body };
}
