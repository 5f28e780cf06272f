import { textOf } from './conventions/messages.ts';
import { type ContentEvent, isContentEvent } from './event-messages.ts';
import { findingOf } from './findings.ts';
import type { LogRecord, Value } from './records.ts';

/** What a log record is to its span. */
export type LogKind = 'content' | 'exception' | 'finding';

/** A log record that is kept, as JSON text of its kind. */
export interface MappedLog {
  traceId: string;
  spanId: string;
  kind: LogKind;
  /** Nanoseconds since 1970; undefined when not sent. */
  time: bigint | undefined;
  document: string;
}

/** The records of an export that belong to a span and say something of it. All others are left out. */
export const mapLogs = (records: readonly LogRecord[]): MappedLog[] => records.flatMap(mapLog);

function mapLog(record: LogRecord): MappedLog[] {
  const { traceId, spanId, time } = record;
  if (traceId === '' || spanId === '') return [];
  const event = { name: nameOf(record), attributes: record.attributes, body: record.body };
  const said = contentOf(event);
  return said === undefined ? [] : [{ traceId, spanId, time, ...said }];
}

function contentOf(event: ContentEvent): Pick<MappedLog, 'kind' | 'document'> | undefined {
  const { name, attributes, body } = event;
  if (isContentEvent(name)) {
    return { kind: 'content', document: JSON.stringify({ name, attributes: Object.fromEntries(attributes), body }) };
  }
  const finding = findingOf(event);
  if (finding !== undefined) return { kind: 'finding', document: JSON.stringify(finding) };
  const exception = attributes.get('exception.message') ?? attributes.get('exception.type');
  return exception === undefined || exception === null
    ? undefined
    : { kind: 'exception', document: JSON.stringify({ error: textOf(exception) }) };
}

/** The name of an event; before it had a field of its own it was an attribute. */
function nameOf({ eventName, attributes }: LogRecord): string {
  const older = attributes.get('event.name');
  return eventName !== '' ? eventName : typeof older === 'string' ? older : '';
}

/** Reads a kept record of content again. */
export function keptEvent(document: string): ContentEvent {
  const { name, attributes, body } = JSON.parse(document) as { name: string; attributes: Record<string, Value>; body: Value };
  return { name, attributes: new Map(Object.entries(attributes)), body };
}
