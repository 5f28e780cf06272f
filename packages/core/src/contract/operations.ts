import type { TSchema } from 'typebox';
import { AuditEntry, AuditEntryAppended } from './audit-entry.ts';
import { DetailedEvaluation, DetailedEvaluationAccepted } from './detailed-evaluation.ts';
import { Evaluation, EvaluationAccepted } from './evaluation.ts';
import { evaluationRuleViolations } from './evaluation-rules.ts';
import type { Issue } from './issue.ts';
import { ISSUES_MAX, jsonPointer } from './json-pointer.ts';
import { PromotionCheck, PromotionDecision } from './promotion-check.ts';
import type { Scope } from './scopes.ts';
import { type Telemetry, TelemetryAccepted, TelemetryBatch, TelemetryEvent, telemetryForm } from './telemetry.ts';
import { Trace, TraceAccepted } from './trace.ts';

/** A POST endpoint with a JSON body, described once for routing, validation and documentation. */
export interface Operation<Body, ResponseBody> {
  /** Name in OpenAPI (`operationId`), logs and metrics. */
  readonly id:
    | 'ingestTrace'
    | 'ingestTelemetry'
    | 'recordEvaluation'
    | 'appendAuditEntry'
    | 'checkPromotion'
    | 'recordDetailedEvaluation';
  /** The five public endpoints, which never change, are under `/api/public/`. The extensions are under `/api/v1/`. */
  readonly path: `/api/public/${string}` | `/api/v1/${string}`;
  readonly scope: Scope;
  readonly summary: string;
  readonly description: string;
  /** The schemas of bodies. A body must match one of them. */
  readonly bodies: readonly TSchema[];
  /** Returns the schema that a parsed body must match. */
  readonly formOf: (body: unknown) => TSchema;
  /** Checks rules that the schema cannot express. It also runs on invalid bodies, so it must not rely on any type. */
  readonly ruleViolations: (body: Readonly<Record<string, unknown>>) => Issue[];
  readonly response: TSchema;
  /** A `report` can be large, and is parsed leniently. A `record` is hashed or affects decisions, so it is small and parsed strictly. */
  readonly kind: 'report' | 'record';
  /** The maximum nesting of the body: objects and arrays inside each other. */
  readonly depthMax: number;
  /** Whether the endpoint accepts requests while the disk of the database is nearly full. Only the promotion check does. */
  readonly usesReserve: boolean;
  /** Whether the endpoint supports Idempotency-Key. Only the promotion check does not: each request gets a new decision. */
  readonly replayable: boolean;
  /** Never set: it ties the endpoint's code to the types of its body and response. */
  readonly types?: { body: Body; response: ResponseBody };
}

const noRuleViolations = (): Issue[] => [];

const ingestTrace: Operation<Trace, TraceAccepted> = {
  id: 'ingestTrace',
  path: '/api/public/traces',
  scope: 'telemetry',
  summary: 'Ingest the trace of one agent run',
  description:
    'Stores the run and its ordered spans. A later request with the same trace_id is merged: a span replaces the stored span with the ' +
    'same span_id.',
  bodies: [Trace],
  formOf: () => Trace,
  ruleViolations: repeatedSpanIdIssues,
  response: TraceAccepted,
  kind: 'report',
  depthMax: 1000,
  usesReserve: false,
  replayable: true,
};

const ingestTelemetry: Operation<Telemetry, TelemetryAccepted> = {
  id: 'ingestTelemetry',
  path: '/api/public/telemetry',
  scope: 'telemetry',
  summary: 'Ingest one telemetry event, or a batch of 1 to 200',
  description: 'Each event is the summary of one run. A batch is stored atomically.',
  bodies: [TelemetryEvent, TelemetryBatch],
  formOf: telemetryForm,
  ruleViolations: noRuleViolations,
  response: TelemetryAccepted,
  kind: 'report',
  depthMax: 1000,
  usesReserve: false,
  replayable: true,
};

const recordEvaluation: Operation<Evaluation, EvaluationAccepted> = {
  id: 'recordEvaluation',
  path: '/api/public/evaluations',
  scope: 'evaluations',
  summary: 'Record the outcome of an evaluation run',
  description: "Each request creates a record. An agent's latest evaluation is the one recorded last, whatever its status.",
  bodies: [Evaluation],
  formOf: () => Evaluation,
  ruleViolations: noRuleViolations,
  response: EvaluationAccepted,
  kind: 'record',
  depthMax: 1000,
  usesReserve: false,
  replayable: true,
};

const appendAuditEntry: Operation<AuditEntry, AuditEntryAppended> = {
  id: 'appendAuditEntry',
  path: '/api/public/audit',
  scope: 'audit',
  summary: "Append one entry to the workspace's hash-chained ledger",
  description:
    'The entry is immutable. `Countersign-Ledger-Seq` is its number. Keep `row_hash`: with it you can later check that the ledger still ' +
    'contains the entry unchanged.',
  bodies: [AuditEntry],
  formOf: () => AuditEntry,
  ruleViolations: noRuleViolations,
  response: AuditEntryAppended,
  kind: 'record',
  depthMax: 100,
  usesReserve: false,
  replayable: true,
};

const checkPromotion: Operation<PromotionCheck, PromotionDecision> = {
  id: 'checkPromotion',
  path: '/api/public/governance/promotion-check',
  scope: 'governance',
  summary: 'Check whether an agent may be promoted',
  description:
    'Without a recent passing evaluation there is no promotion. The decision is signed and stored. A blocked decision also has status ' +
    '200 and is written to the ledger. Test `allowed`.',
  bodies: [PromotionCheck],
  formOf: () => PromotionCheck,
  ruleViolations: missingAgentIssues,
  response: PromotionDecision,
  kind: 'record',
  depthMax: 1000,
  usesReserve: true,
  replayable: false,
};

const recordDetailedEvaluation: Operation<DetailedEvaluation, DetailedEvaluationAccepted> = {
  id: 'recordDetailedEvaluation',
  path: '/api/v1/evaluations',
  scope: 'evaluations',
  summary: 'Record the outcome of an evaluation run with its cases, time and suite',
  description:
    'The evaluation is stored together with the evaluations from `/api/public/evaluations`. ' +
    "An agent's latest evaluation is the one recorded last, through either endpoint. " +
    'Its age counts from `evaluated_at` or the time of recording, whichever is earlier. An `evaluated_at` more than 5 minutes in the ' +
    'future is rejected with 422.',
  bodies: [DetailedEvaluation],
  formOf: () => DetailedEvaluation,
  ruleViolations: evaluationRuleViolations,
  response: DetailedEvaluationAccepted,
  kind: 'record',
  depthMax: 1000,
  usesReserve: false,
  replayable: true,
};

/** All operations: the five public ones, then the extensions. */
export const operations = {
  ingestTrace,
  ingestTelemetry,
  recordEvaluation,
  appendAuditEntry,
  checkPromotion,
  recordDetailedEvaluation,
} as const;
export type OperationId = keyof typeof operations;

/** Issues for repeated span_ids, at most ISSUES_MAX. If two spans of a request had the same span_id, only one would be stored. */
function repeatedSpanIdIssues({ spans }: { spans?: unknown }): Issue[] {
  const firstIndexes = new Map<string, number>();
  const issues: Issue[] = [];
  for (const [index, span] of (Array.isArray(spans) ? spans : []).entries()) {
    const spanId: unknown = span?.span_id;
    if (typeof spanId !== 'string') continue;
    const first = firstIndexes.get(spanId);
    if (first === undefined) firstIndexes.set(spanId, index);
    else if (issues.length < ISSUES_MAX) {
      issues.push({
        path: jsonPointer(['spans', index, 'span_id']),
        code: 'repeated_span_id',
        message: `/spans/${first} already has this span_id; give each span of a request its own ID`,
      });
    }
  }
  return issues;
}

function missingAgentIssues({ agent_id, agent_name }: { agent_id?: unknown; agent_name?: unknown }): Issue[] {
  if (agent_id != null || agent_name != null) return [];
  return [{ path: '', code: 'agent_missing', message: 'send agent_id or agent_name, to say which agent is to be promoted' }];
}
