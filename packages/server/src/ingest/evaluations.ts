import type { Evaluation } from '@countersign/core/contract/evaluation';
import { unsignedZero } from '@countersign/core/domain/exact-json';
import type { EvaluationRow } from '../storage/evaluations.ts';
import { agentClaim } from './agent-book.ts';
import { type Asked, type Endpoint, recordedByKey } from './endpoint.ts';
import { replayability } from './replays.ts';
import type { PreparedEvaluation } from './write-evaluations.ts';

/** POST /api/public/evaluations: record the outcome of an evaluation run; the last one recorded is the agent's latest. */
export const recordEvaluation: Endpoint<Evaluation> = async ({ evaluations }, asked, evaluation) =>
  evaluations.submit(asked.principal.tenantId, {
    ...preparedEvaluation(asked, evaluation, evaluation.pass_rate ?? null, NO_DETAILS),
    answerOf: (id) => ({ ok: true, id }),
  });

/** What the other endpoint adds to a row, of `POST /api/v1/evaluations`. */
export type EvaluationDetails = Pick<EvaluationRow, 'evaluatedAt' | 'suite' | 'completeness' | 'artifact'>;

const NO_DETAILS: EvaluationDetails = { evaluatedAt: null, suite: null, completeness: null, artifact: null };

/** An evaluation ready to be written, but for its answer: what both endpoints have in common. */
export function preparedEvaluation(
  asked: Asked,
  evaluation: Omit<Evaluation, 'pass_rate'>,
  passRate: number | null,
  details: EvaluationDetails,
): Omit<PreparedEvaluation, 'answerOf'> {
  return {
    bytes: asked.document.length + 1000,
    ...replayability(asked),
    claim: agentClaim(evaluation),
    row: {
      recordedBy: recordedByKey(asked.principal),
      harnessId: evaluation.harness_id?.toLowerCase() ?? null,
      name: evaluation.name,
      category: evaluation.category ?? null,
      status: evaluation.status ?? 'passing',
      passRate: passRate === null ? null : unsignedZero(passRate),
      severityThreshold: evaluation.severity_threshold == null ? null : unsignedZero(evaluation.severity_threshold),
      ...details,
      document: asked.document,
    },
  };
}
