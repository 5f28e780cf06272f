import type { Evaluation } from '@countersign/core/contract/evaluation';
import { agentClaim } from '@countersign/core/domain/agent-claim';
import { unsignedZero } from '@countersign/core/domain/exact-json';
import type { EvaluationRow } from '../storage/evaluations.ts';
import type { Endpoint } from './endpoint.ts';
import { type IngestRequest, recordedByKey } from './ingest-request.ts';
import { idempotencyOf } from './replays.ts';
import type { PreparedEvaluation } from './write-evaluations.ts';

/** A prepared evaluation without its bytes and its response. */
export type EvaluationBody = Omit<PreparedEvaluation, 'row' | 'responseOf'> & {
  row: Omit<PreparedEvaluation['row'], 'document'>;
};

/** POST /api/public/evaluations: records an evaluation; the last one recorded is the agent's latest. */
export const recordEvaluation: Endpoint<Evaluation, EvaluationBody> = {
  prepare: (request, evaluation) => prepareEvaluation(request, evaluation, evaluation.pass_rate ?? null, NO_DETAILS),
  submit: ({ evaluations }, { principal, document }, prepared) =>
    evaluations.submit(
      principal.tenantId,
      withDocument(prepared, document, (id) => ({ ok: true, id })),
    ),
};

/** A prepared evaluation with its bytes and its response, ready for the writer. */
export const withDocument = (
  prepared: EvaluationBody,
  document: Buffer,
  responseOf: PreparedEvaluation['responseOf'],
): PreparedEvaluation => ({ ...prepared, row: { ...prepared.row, document }, responseOf });

/** The additional members of `POST /api/v1/evaluations`. */
export type EvaluationDetails = Pick<EvaluationRow, 'evaluatedAt' | 'suite' | 'completeness' | 'artifact' | 'traceIds'>;

const NO_DETAILS: EvaluationDetails = { evaluatedAt: null, suite: null, completeness: null, artifact: null, traceIds: [] };

/** Prepares an evaluation of either endpoint. */
export function prepareEvaluation(
  request: IngestRequest,
  evaluation: Omit<Evaluation, 'pass_rate'>,
  passRate: number | null,
  details: EvaluationDetails,
): EvaluationBody {
  return {
    bytes: request.document.length + 1000,
    ...idempotencyOf(request),
    claim: agentClaim(evaluation),
    row: {
      recordedBy: recordedByKey(request.principal),
      harnessId: evaluation.harness_id?.toLowerCase() ?? null,
      name: evaluation.name,
      category: evaluation.category ?? null,
      status: evaluation.status ?? 'passing',
      passRate: passRate === null ? null : unsignedZero(passRate),
      severityThreshold: evaluation.severity_threshold == null ? null : unsignedZero(evaluation.severity_threshold),
      ...details,
    },
  };
}
