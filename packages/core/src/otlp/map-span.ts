import type { Span } from '../contract/trace.ts';
import { errorOf, labelOf } from './accepted-values.ts';
import { CONVENTIONS, KIND_ORDER } from './conventions/all.ts';
import type { DocumentsWithSource, Field, KindMatch, MessagesWithSource } from './conventions/convention.ts';
import { fromJson } from './conventions/json-text.ts';
import { messagesOfEvents } from './event-messages.ts';
import { valueOfField } from './field-values.ts';
import { dateTimeOf, millisecondsBetween } from './instants.ts';
import type { SpanRecord, Value } from './records.ts';

/** The member of `metadata` that marks a conversation from span events. Messages from log records replace such a conversation. */
export const MESSAGES_FROM = 'countersign.messages_from';

/** The name of a step if its span has no name. */
const UNNAMED = 'unnamed';
const STATUS_ERROR = 2;

/** The kind of a span, by the first convention that determines it; otherwise `llm` if the span has a model, else `other`. */
export function kindOfSpan(span: SpanRecord): KindMatch {
  for (const convention of KIND_ORDER) {
    const match = convention.kindOf(span);
    if (match !== undefined) return match;
  }
  const model = valueOfField('model', span.attributes);
  return model === undefined ? { kind: 'other' } : { kind: 'llm' };
}

/**
 * A span as a step of a trace. An attribute stays in `metadata`, unless its whole value goes into a member of the step other than `error`.
 * @param repeatsParent whether the span's tokens repeat those of its parent. If so, only an embedding keeps its tokens and cost.
 */
export function mapSpan(record: SpanRecord, match = kindOfSpan(record), repeatsParent = false): Span {
  const usedNames = new Set<string>();
  const read = (field: Field): Value | undefined => {
    const fieldValue = valueOfField(field, record.attributes, match.kind);
    if (fieldValue === undefined || usedNames.has(fieldValue.name)) return undefined;
    usedNames.add(fieldValue.name);
    return fieldValue.value;
  };
  const name = (match.kind === 'tool' ? read('name') : undefined) ?? labelOf(record.name);
  const conversation = conversationOf(record);
  for (const each of conversation?.sourceNames ?? []) usedNames.add(each);
  const [first, second] = match.kind === 'tool' ? TOOL_CONTENT : OTHER_CONTENT;
  const content = [read(first), read(second)] as const;
  const retrieved = match.kind === 'retrieval' && content[1] === undefined ? documentsOf(record) : undefined;
  for (const each of retrieved?.sourceNames ?? []) usedNames.add(each);
  const error = spanError(record);
  const span: Span = {
    span_id: record.spanId,
    kind: match.kind,
    name: (name as string | undefined) ?? UNNAMED,
    status: error === undefined ? 'success' : 'error',
  };
  if (record.parentSpanId !== undefined) span.parent_span_id = record.parentSpanId;
  assign(span, 'model', read('model'));
  assign(span, 'provider', read('provider'));
  if ((match.kind === 'llm' && !repeatsParent) || match.isEmbedding) for (const field of USAGE) assign(span, field, read(field));
  assign(span, first, content[0] === undefined ? undefined : fromJson(content[0]));
  assign(span, second, content[1] === undefined ? retrieved?.documents : fromJson(content[1]));
  if (conversation !== undefined) span.messages = conversation.messages;
  if (error !== undefined && error !== '') span.error = error;
  assignTimes(span, record);
  span.metadata = metadataOf(record, usedNames, name === undefined);
  if (conversation?.sourceNames.length === 0) span.metadata[MESSAGES_FROM] = 'span_events';
  return span;
}

const TOOL_CONTENT = ['tool_arguments', 'tool_result'] as const;
const OTHER_CONTENT = ['input', 'output'] as const;
const USAGE = ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost_usd'] as const;

function assign<Name extends keyof Span>(span: Span, name: Name, value: Value | undefined): void {
  if (value !== undefined) (span as Record<string, unknown>)[name] = value;
}

function assignTimes(span: Span, { start, end }: SpanRecord): void {
  if (start !== undefined) span.started_at = dateTimeOf(start);
  if (end !== undefined) span.ended_at = dateTimeOf(end);
  const latency = millisecondsBetween(start, end);
  if (latency !== undefined) span.latency_ms = latency;
}

/** The conversation in the attributes, by the first convention that finds one; otherwise from the events of the span. */
function conversationOf(record: SpanRecord): MessagesWithSource | undefined {
  for (const { messagesOf } of CONVENTIONS) {
    const conversation = messagesOf?.(record.attributes);
    if (conversation !== undefined) return conversation;
  }
  if (record.events.length === 0) return undefined;
  const messages = messagesOfEvents(record.events.map(({ name, attributes }) => ({ name, attributes, body: null })));
  return messages.length === 0 ? undefined : { messages, sourceNames: [] };
}

/** The documents that a retrieval found, by the first convention that lists them. */
function documentsOf({ attributes }: SpanRecord): DocumentsWithSource | undefined {
  for (const convention of CONVENTIONS) {
    const documents = convention.documentsOf?.(attributes);
    if (documents !== undefined) return documents;
  }
  return undefined;
}

/**
 * The error of a span; empty if it failed without a reason, undefined if it did not fail. A span failed if its status is an error, or if it
 * has an event `exception` or an attribute `error.type`.
 */
export function spanError(record: SpanRecord): string | undefined {
  const exception = record.events.find(({ name }) => name === 'exception')?.attributes;
  const type = record.attributes.get('error.type');
  if (record.statusCode !== STATUS_ERROR && exception === undefined && errorOf(type) === undefined) return undefined;
  return (
    errorOf(exception?.get('exception.message')) ??
    errorOf(exception?.get('exception.type')) ??
    errorOf(record.statusMessage) ??
    errorOf(type) ??
    ''
  );
}

const SPAN_KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

/** The flags of an ordinary member, to define `__proto__`: an assignment would set the prototype instead of a member. */
const MEMBER_FLAGS = { enumerable: true, configurable: true, writable: true } as const;

function metadataOf(record: SpanRecord, usedNames: ReadonlySet<string>, isUnnamed: boolean): Record<string, unknown> {
  const metadata: Record<string, unknown> = {};
  for (const [name, value] of record.attributes) {
    if (usedNames.has(name)) continue;
    if (name === '__proto__') Object.defineProperty(metadata, name, { value, ...MEMBER_FLAGS });
    else metadata[name] = value;
  }
  const { kind, scope, events, links } = record;
  if (kind > 1) metadata['otel.span.kind'] = SPAN_KINDS[kind] ?? kind;
  if (scope !== '') metadata['otel.scope.name'] = scope;
  if (isUnnamed && record.name !== '') metadata['otel.span.name'] = record.name;
  if (events.length > 0) {
    metadata['otel.events'] = events.map(({ name, time, attributes }) => ({
      name,
      ...(time === undefined ? {} : { time: dateTimeOf(time) }),
      attributes: Object.fromEntries(attributes),
    }));
  }
  if (links.length > 0) {
    metadata['otel.links'] = links.map(({ traceId, spanId, attributes }) => ({
      trace_id: traceId,
      span_id: spanId,
      attributes: Object.fromEntries(attributes),
    }));
  }
  return metadata;
}
