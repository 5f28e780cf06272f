import type { TSchema } from 'typebox';
import { AuditEntry, AuditEntryAppended } from './audit-entry.ts';
import { DetailedEvaluation, DetailedEvaluationAccepted } from './detailed-evaluation.ts';
import { Evaluation, EvaluationAccepted } from './evaluation.ts';
import { contradictions } from './evaluation-rules.ts';
import type { Issue } from './issue.ts';
import { ISSUES_MAX, jsonPointer } from './json-pointer.ts';
import { PromotionCheck, PromotionDecision } from './promotion-check.ts';
import type { Scope } from './scopes.ts';
import { type Telemetry, TelemetryAccepted, TelemetryBatch, TelemetryEvent, telemetryForm } from './telemetry.ts';
import { Trace, TraceAccepted } from './trace.ts';

/** One endpoint that takes records: all that is particular to it, for routing, validation and documentation alike. */
export interface Operation<Body, Answer> {
  /** Name in OpenAPI (`operationId`), logs and metrics. */
  readonly id:
    | 'ingestTrace'
    | 'ingestTelemetry'
    | 'recordEvaluation'
    | 'appendAuditEntry'
    | 'checkPromotion'
    | 'recordDetailedEvaluation';
  /** Under `/api/public/` the five endpoints of the specification, which never change; under `/api/v1/` the extensions. */
  readonly path: `/api/public/${string}` | `/api/v1/${string}`;
  readonly scope: Scope;
  readonly summary: string;
  readonly description: string;
  /** The forms a body may have. */
  readonly bodies: readonly TSchema[];
  /** Which of the forms this parsed body is to be held against. */
  readonly formOf: (body: unknown) => TSchema;
  /** What the schema cannot say. Also asked of an object that breaks its schema, so it takes no member for what it should be. */
  readonly alsoWrong: (body: Readonly<Record<string, unknown>>) => Issue[];
  readonly answer: TSchema;
  /** `reports` are read tolerantly and may be large; `records` decide or are hashed, are read strictly and are small. */
  readonly kind: 'report' | 'record';
  /** Deepest nesting of the body. */
  readonly depthMax: number;
  /** Whether it is answered while the disk of the database is nearly full. What stores new records is refused then. */
  readonly usesReserve: boolean;
  /** Whether Idempotency-Key is honoured: on all that store what they are sent. A decision is never replayed. */
  readonly replayable: boolean;
  /** Phantom: ties the endpoint's code to its body and answer. */
  readonly types?: { body: Body; answer: Answer };
}

const nothingElse = (): Issue[] => [];

const ingestTrace: Operation<Trace, TraceAccepted> = {
  id: 'ingestTrace',
  path: '/api/public/traces',
  scope: 'telemetry',
  summary: 'Ingest the trace of one agent run',
  description:
    'Stores the run and its ordered spans. Sending the same trace_id again merges: spans by span_id, the later one wins.',
  bodies: [Trace],
  formOf: () => Trace,
  alsoWrong: repeatedSpanIds,
  answer: TraceAccepted,
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
  description: 'Run summaries. A batch is stored whole or not at all.',
  bodies: [TelemetryEvent, TelemetryBatch],
  formOf: telemetryForm,
  alsoWrong: nothingElse,
  answer: TelemetryAccepted,
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
  description: "Each one is a record of its own; an agent's latest evaluation is the one recorded last, whatever its status.",
  bodies: [Evaluation],
  formOf: () => Evaluation,
  alsoWrong: nothingElse,
  answer: EvaluationAccepted,
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
    'The entry is immutable from then on. `Countersign-Ledger-Seq` says its number; log `row_hash` as proof of inclusion.',
  bodies: [AuditEntry],
  formOf: () => AuditEntry,
  alsoWrong: nothingElse,
  answer: AuditEntryAppended,
  kind: 'record',
  depthMax: 100,
  usesReserve: false,
  replayable: true,
};

const checkPromotion: Operation<PromotionCheck, PromotionDecision> = {
  id: 'checkPromotion',
  path: '/api/public/governance/promotion-check',
  scope: 'governance',
  summary: 'Ask whether an agent may be promoted',
  description:
    'No recent passing evaluation, no promotion. The decision is signed and kept; a blocked one is status 200 too and is written to the ledger. Test `allowed`.',
  bodies: [PromotionCheck],
  formOf: () => PromotionCheck,
  alsoWrong: agentMissing,
  answer: PromotionDecision,
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
    "Stored beside the evaluations of `/api/public/evaluations`: an agent's latest evaluation is the one recorded last, by either endpoint. " +
    'Its age counts from the earlier of `evaluated_at` and the moment of recording; an `evaluated_at` more than 5 minutes in the future is a 422.',
  bodies: [DetailedEvaluation],
  formOf: () => DetailedEvaluation,
  alsoWrong: contradictions,
  answer: DetailedEvaluationAccepted,
  kind: 'record',
  depthMax: 1000,
  usesReserve: false,
  replayable: true,
};

/** The table of all of them: the five of the specification, then the extensions. */
export const operations = {
  ingestTrace,
  ingestTelemetry,
  recordEvaluation,
  appendAuditEntry,
  checkPromotion,
  recordDetailedEvaluation,
} as const;
export type OperationId = keyof typeof operations;

/** A span_id may stand once in a request: two spans of one id would leave it to chance which one is kept. */
function repeatedSpanIds({ spans }: { spans?: unknown }): Issue[] {
  const seen = new Map<string, number>();
  const issues: Issue[] = [];
  for (const [index, span] of (Array.isArray(spans) ? spans : []).entries()) {
    const spanId: unknown = span?.span_id;
    if (typeof spanId !== 'string') continue;
    const first = seen.get(spanId);
    if (first === undefined) seen.set(spanId, index);
    else if (issues.length < ISSUES_MAX) {
      issues.push({
        path: jsonPointer(['spans', index, 'span_id']),
        code: 'repeated_span_id',
        message: `span_id stands in /spans/${first} already; give each span of a request its own`,
      });
    }
  }
  return issues;
}

function agentMissing({ agent_id, agent_name }: { agent_id?: unknown; agent_name?: unknown }): Issue[] {
  if (agent_id != null || agent_name != null) return [];
  return [{ path: '', code: 'agent_missing', message: 'give agent_id or agent_name: which agent is to be promoted?' }];
}
