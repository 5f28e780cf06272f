import type { Evaluation } from '@countersign/core/contract/evaluation';
import { unsignedZero } from '@countersign/core/domain/exact-json';
import { agentClaim } from './agent-book.ts';
import { type Endpoint, recordedByKey } from './endpoint.ts';
import { replayability } from './replays.ts';

/** POST /api/public/evaluations: record the outcome of an evaluation run; the last one recorded is the agent's latest. */
export const recordEvaluation: Endpoint<Evaluation> = async ({ evaluations }, asked, evaluation) =>
  evaluations.submit(asked.principal.tenantId, {
    bytes: asked.document.length + 1000,
    ...replayability(asked),
    claim: agentClaim(evaluation),
    row: {
      recordedBy: recordedByKey(asked.principal),
      harnessId: evaluation.harness_id?.toLowerCase() ?? null,
      name: evaluation.name,
      category: evaluation.category ?? null,
      status: evaluation.status ?? 'passing',
      passRate: evaluation.pass_rate == null ? null : unsignedZero(evaluation.pass_rate),
      severityThreshold: evaluation.severity_threshold == null ? null : unsignedZero(evaluation.severity_threshold),
      document: asked.document,
    },
  });
