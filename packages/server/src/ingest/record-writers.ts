import type { BatchWriter } from '../database/batch-writer.ts';
import type { QueuedExport } from '../otlp/export.ts';
import type { Answered } from './endpoint.ts';
import type { PreparedAudit } from './write-audit.ts';
import type { PreparedCheck } from './write-decisions.ts';
import type { PreparedEvaluation } from './write-evaluations.ts';
import type { PreparedTelemetry } from './write-telemetry.ts';
import type { PreparedTrace } from './write-traces.ts';

/** One batch writer for each kind of record, and the signature of the instance. */
export interface RecordWriters {
  readonly traces: BatchWriter<PreparedTrace, Answered>;
  /** For the OpenTelemetry endpoints. */
  readonly exports: BatchWriter<QueuedExport, Answered>;
  readonly telemetry: BatchWriter<PreparedTelemetry, Answered>;
  readonly evaluations: BatchWriter<PreparedEvaluation, Answered>;
  /** For POST /api/v1/evaluations. */
  readonly detailedEvaluations: BatchWriter<PreparedEvaluation, Answered>;
  readonly audit: BatchWriter<PreparedAudit, Answered>;
  readonly decisions: BatchWriter<PreparedCheck, Answered>;
  /** Signs a committed decision with every current key of the instance. Returns the attestation as a header value. */
  readonly attest: (decisionJson: string) => string;
}
