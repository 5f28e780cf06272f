import type { BatchWriter } from '../database/batch-writer.ts';
import type { QueuedExport } from '../otlp/export.ts';
import type { Answered } from './endpoint.ts';
import type { PreparedAudit } from './write-audit.ts';
import type { PreparedCheck } from './write-decisions.ts';
import type { PreparedEvaluation } from './write-evaluations.ts';
import type { PreparedTelemetry } from './write-telemetry.ts';
import type { PreparedTrace } from './write-traces.ts';

/** What the house offers to endpoints: one batch writer per kind of record, and the instance's signature. */
export interface House {
  readonly traces: BatchWriter<PreparedTrace, Answered>;
  /** Of the OpenTelemetry endpoints. */
  readonly exports: BatchWriter<QueuedExport, Answered>;
  readonly telemetry: BatchWriter<PreparedTelemetry, Answered>;
  readonly evaluations: BatchWriter<PreparedEvaluation, Answered>;
  /** Of POST /api/v1/evaluations. */
  readonly detailedEvaluations: BatchWriter<PreparedEvaluation, Answered>;
  readonly audit: BatchWriter<PreparedAudit, Answered>;
  readonly decisions: BatchWriter<PreparedCheck, Answered>;
  /** Signs a decision that is committed, with every live key of the instance: its attestation as a header says it. */
  readonly attest: (decisionJson: string) => string;
}
