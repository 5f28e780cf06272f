import type { DetailedEvaluation } from '@countersign/core/contract/detailed-evaluation';
import { completenessOf, effectivePassRate } from '@countersign/core/contract/evaluation-rules';
import { parseDateTime } from '@countersign/core/domain/instant';
import type { Endpoint } from './endpoint.ts';
import { type EvaluationBody, prepareEvaluation, withDocument } from './evaluations.ts';

/**
 * POST /api/v1/evaluations: records an evaluation with its cases, time and suite. It is stored in the table of
 * POST /api/public/evaluations, so the agent's latest evaluation is the last one that either endpoint recorded.
 */
export const recordDetailedEvaluation: Endpoint<DetailedEvaluation, EvaluationBody> = {
  prepare: (request, evaluation) =>
    prepareEvaluation(request, evaluation, effectivePassRate(evaluation), {
      evaluatedAt: evaluation.evaluated_at == null ? null : parseDateTime(evaluation.evaluated_at)!,
      suite: evaluation.suite?.name ?? null,
      completeness: completenessOf(evaluation),
      artifact: evaluation.artifact ?? null,
      traceIds: evaluation.trace_ids ?? [],
    }),
  submit: ({ detailedEvaluations }, { principal, document }, prepared) =>
    detailedEvaluations.submit(
      principal.tenantId,
      withDocument(prepared, document, (id) => ({ ok: true, id, pass_rate: prepared.row.passRate })),
    ),
};
