import type { OperationId } from '@countersign/core/contract/operations';
import { appendAuditEntry } from './audit.ts';
import { recordDetailedEvaluation } from './detailed-evaluations.ts';
import type { Endpoint } from './endpoint.ts';
import { recordEvaluation } from './evaluations.ts';
import { checkPromotion } from './promotion-check.ts';
import { ingestTelemetry } from './telemetry.ts';
import { ingestTrace } from './traces.ts';

/** The endpoints by the names of their operations. */
// biome-ignore lint/suspicious/noExplicitAny: each endpoint accepts the body of its own operation; the table links them by name.
export const endpoints: Record<OperationId, Endpoint<any, any>> = {
  ingestTrace,
  ingestTelemetry,
  recordEvaluation,
  appendAuditEntry,
  checkPromotion,
  recordDetailedEvaluation,
};
