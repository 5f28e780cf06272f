import type { BatchWriter } from '../database/batch-writer.ts';
import type { QueuedExport } from '../otlp/export.ts';
import type { IngestReply } from './ingest-request.ts';
import type { PreparedTrace } from './prepared-trace.ts';
import type { PreparedAudit } from './write-audit.ts';
import type { PreparedCheck } from './write-decisions.ts';
import type { PreparedEvaluation } from './write-evaluations.ts';
import type { PreparedTelemetry } from './write-telemetry.ts';

/** One batch writer for each kind of record, and the function that signs attestations. */
export interface RecordWriters {
  readonly traces: BatchWriter<PreparedTrace, IngestReply>;
  /** For the OpenTelemetry endpoints. */
  readonly exports: BatchWriter<QueuedExport, IngestReply>;
  readonly telemetry: BatchWriter<PreparedTelemetry, IngestReply>;
  readonly evaluations: BatchWriter<PreparedEvaluation, IngestReply>;
  /** For POST /api/v1/evaluations. */
  readonly detailedEvaluations: BatchWriter<PreparedEvaluation, IngestReply>;
  readonly audit: BatchWriter<PreparedAudit, IngestReply>;
  readonly decisions: BatchWriter<PreparedCheck, IngestReply>;
  /** Signs a committed decision with every current key of the instance. Returns the attestation as a header value. */
  readonly attest: (decisionJson: string) => string;
}
