import type { Span, Trace } from '../contract/trace.ts';
import { MAY_REPEAT_PARENT } from '../domain/merged-trace.ts';
import { agentNameOf } from './accepted-values.ts';
import { AGENT_RANK, type AgentRank } from './agent-rank.ts';
import type { KindMatch } from './conventions/convention.ts';
import { withParseLimit } from './conventions/json-text.ts';
import { valueOfField } from './field-values.ts';
import { type Finding, findingOf } from './findings.ts';
import { dateTimeOf, millisecondsBetween } from './instants.ts';
import { kindOfSpan, mapSpan, spanError } from './map-span.ts';
import type { Attributes, SpanRecord } from './records.ts';

/** The spans of one trace in an export, as a submission of that trace. */
export interface MappedTrace {
  /** A body of POST /api/public/traces. Only the root span sets `outcome`. */
  trace: Trace & { trace_id: string; spans: Span[] };
  /** The source of `agent_name`. */
  agentRank: AgentRank;
  /**
   * The agent name to show until the root span or an agent span arrives. Null if the trace has `agent_name`. Null also if no span names an
   * agent and the first span has no usable service name (see `serviceName`).
   */
  provisionalAgentName: string | null;
  /** Whether a span has the status `error`. */
  hasError: boolean;
  /** The findings in the events of the spans. `time` is in nanoseconds since 1970. */
  findings: { spanId: string; time: bigint | undefined; finding: Finding }[];
}

/** Maps the spans of an export to traces. If two spans of a trace have the same ID, the later one in the export is used. */
export function mapTraces(records: readonly SpanRecord[]): MappedTrace[] {
  const byTrace = new Map<string, Map<string, SpanRecord>>();
  for (const record of records) {
    const spans = byTrace.get(record.traceId) ?? new Map<string, SpanRecord>();
    byTrace.set(record.traceId, spans.set(record.spanId, record));
  }
  return withParseLimit(() => [...byTrace].map(([traceId, spans]) => mapTrace(traceId, [...spans.values()])));
}

function mapTrace(traceId: string, records: readonly SpanRecord[]): MappedTrace {
  const root = records.find(({ parentSpanId }) => parentSpanId === undefined);
  const matches = records.map(kindOfSpan);
  const calls = callsWithUsage(records, matches);
  const spans = records.map((record, index) => mapSpan(record, matches[index], calls.has(record.parentSpanId ?? '')));
  markCallsBelowOthers(spans, calls);
  const firstAgentSpan = earliestSpan(records.filter((_, index) => matches[index]?.kind === 'agent'));
  const agent = agentOf(root, firstAgentSpan);
  const rootFirst = root === undefined ? records : [root, ...records];
  const trace: MappedTrace['trace'] = { trace_id: traceId, spans };
  if (agent !== undefined) trace.agent_name = agent.name;
  const session = firstValueOf('session_id', rootFirst);
  if (session !== undefined) trace.session_id = session;
  const user = firstValueOf('external_user_id', rootFirst);
  if (user !== undefined) trace.external_user_id = user;
  if (root !== undefined) Object.assign(trace, rootFacts(root));
  const resource = (root ?? records[0])?.resource;
  if (resource !== undefined && resource.size > 0) trace.metadata = Object.fromEntries(resource);
  return {
    trace,
    agentRank: agent?.rank ?? AGENT_RANK.none,
    provisionalAgentName: agent === undefined ? provisionalName(records) : null,
    hasError: spans.some(({ status }) => status === 'error'),
    findings: records.flatMap(findingsOf),
  };
}

/**
 * The span IDs of model calls with tokens. Their tokens are not counted again in child spans, which the SDK of the model API may create for
 * the same call.
 */
function callsWithUsage(records: readonly SpanRecord[], matches: readonly KindMatch[]): Set<string> {
  const calls = records.filter(
    ({ attributes }, index) =>
      matches[index]?.kind === 'llm' && USAGE_FIELDS.some((field) => valueOfField(field, attributes) !== undefined),
  );
  return new Set(calls.map(({ spanId }) => spanId));
}

/**
 * Marks the model calls with tokens whose parent may report the same call: the parent is a model call with tokens, or is not in this
 * export. If the parent is in this export, `mapSpan` has removed the tokens of the span. The mark still shows that the span reports a call.
 * This matters for the children of the span in other exports.
 */
function markCallsBelowOthers(spans: readonly Span[], calls: ReadonlySet<string>): void {
  const ids = new Set(spans.map(({ span_id }) => span_id));
  for (const span of spans) {
    const parent = span.parent_span_id;
    if (parent == null || !calls.has(span.span_id)) continue;
    if (calls.has(parent) || !ids.has(parent)) span.metadata = { ...span.metadata, [MAY_REPEAT_PARENT]: true };
  }
}

const USAGE_FIELDS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const;

/** The members that come from the root span alone: outcome, error, duration and times of the run. */
function rootFacts(root: SpanRecord): Partial<Trace> {
  const error = spanError(root);
  const latency = millisecondsBetween(root.start, root.end);
  return {
    outcome: root.statusCode === 2 ? 'failure' : 'success',
    ...(error === undefined || error === '' ? {} : { error }),
    ...(latency === undefined ? {} : { latency_ms: latency }),
    ...(root.start === undefined ? {} : { started_at: dateTimeOf(root.start) }),
    ...(root.end === undefined ? {} : { ended_at: dateTimeOf(root.end) }),
  };
}

function agentOf(
  root: SpanRecord | undefined,
  firstAgentSpan: SpanRecord | undefined,
): { name: string; rank: AgentRank } | undefined {
  const ofRoot = root === undefined ? undefined : valueOfField('agent_name', root.attributes);
  if (ofRoot !== undefined) return { name: ofRoot.value as string, rank: AGENT_RANK.root };
  const ofAgentSpan = firstAgentSpan === undefined ? undefined : valueOfField('agent_name', firstAgentSpan.attributes);
  if (ofAgentSpan !== undefined) return { name: ofAgentSpan.value as string, rank: AGENT_RANK.invokedAgent };
  const service = root === undefined ? undefined : serviceName(root.resource);
  return service === undefined ? undefined : { name: service, rank: AGENT_RANK.serviceOfRoot };
}

/** The first agent name in the spans, otherwise the service name of the first span; null if there is neither. */
function provisionalName(records: readonly SpanRecord[]): string | null {
  for (const { attributes } of records) {
    const agentName = valueOfField('agent_name', attributes);
    if (agentName !== undefined) return agentName.value as string;
  }
  return records[0] === undefined ? null : (serviceName(records[0].resource) ?? null);
}

/** The name of the service; undefined if it is missing, is not a valid agent name, or is the SDK's default. */
function serviceName(resource: Attributes): string | undefined {
  const name = agentNameOf(resource.get('service.name'));
  return name?.startsWith('unknown_service') ? undefined : name;
}

/** The first value of a field in the spans, otherwise in the resource of the first span. */
function firstValueOf(field: 'session_id' | 'external_user_id', records: readonly SpanRecord[]): string | undefined {
  for (const { attributes } of records) {
    const fieldValue = valueOfField(field, attributes);
    if (fieldValue !== undefined) return fieldValue.value as string;
  }
  const resourceValue = records[0] === undefined ? undefined : valueOfField(field, records[0].resource);
  return resourceValue?.value as string | undefined;
}

/** The span that started first. Spans without a start time count as the last. */
function earliestSpan(records: readonly SpanRecord[]): SpanRecord | undefined {
  return records.reduce<SpanRecord | undefined>(
    (first, each) => (first === undefined || (each.start ?? TIME_MAX) < (first.start ?? TIME_MAX) ? each : first),
    undefined,
  );
}

/** Later than every time in OTLP, where a time has 64 bits. */
const TIME_MAX = 2n ** 64n;

const findingsOf = (record: SpanRecord): MappedTrace['findings'] =>
  record.events.flatMap((event) => {
    const finding = findingOf(event);
    return finding === undefined ? [] : [{ spanId: record.spanId, time: event.time, finding }];
  });
