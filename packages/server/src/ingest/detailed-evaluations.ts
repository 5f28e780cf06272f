import type { DetailedEvaluation } from '@countersign/core/contract/detailed-evaluation';
import { completenessOf, effectivePassRate } from '@countersign/core/contract/evaluation-rules';
import { unsignedZero } from '@countersign/core/domain/exact-json';
import { parseDateTime } from '@countersign/core/domain/instant';
import type { Endpoint } from './endpoint.ts';
import { preparedEvaluation } from './evaluations.ts';

/**
 * POST /api/v1/evaluations: record the outcome of an evaluation run with its cases, time and suite. It is stored beside the evaluations
 * of the public endpoint, so that the last one recorded by either is the agent's latest.
 */
export const recordDetailedEvaluation: Endpoint<DetailedEvaluation> = async ({ detailedEvaluations }, asked, evaluation) => {
  const passRate = effectivePassRate(evaluation);
  const details = {
    evaluatedAt: evaluation.evaluated_at == null ? null : parseDateTime(evaluation.evaluated_at)!,
    suite: evaluation.suite?.name ?? null,
    completeness: completenessOf(evaluation),
    artifact: evaluation.artifact ?? null,
  };
  return detailedEvaluations.submit(asked.principal.tenantId, {
    ...preparedEvaluation(asked, evaluation, passRate, details),
    answerOf: (id) => ({ ok: true, id, pass_rate: passRate === null ? null : unsignedZero(passRate) }),
  });
};
