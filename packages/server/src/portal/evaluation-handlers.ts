import type { DetailedEvaluation } from '@countersign/core/contract/detailed-evaluation';
import type { EvaluationDetails, RelatedRuns } from '@countersign/core/portal/evaluation-routes';
import { inReadTransaction, type Transaction } from '../database/transaction.ts';
import { findApproval } from '../storage/portal/approvals.ts';
import { findStoredEvaluation, listEvaluations, type StoredEvaluation } from '../storage/portal/evaluations.ts';
import { COUNTED_RUNS_MAX, listModelsOfAgent, sumRunsOfAgent } from '../storage/portal/run-totals.ts';
import { handlers } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, rangeOf, requireFound } from './query.ts';

/** The list of evaluations, and single evaluations. */
export const evaluationHandlers = handlers({
  'evaluations.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['instant', 'wholeNumber']);
    const filter = {
      ...rangeOf(query),
      agentId: idOf(query.agent_id),
      status: query.status ?? null,
      harnessId: idOf(query.harness_id),
    };
    const position = after === null ? null : { recordedAt: after[0], seq: Number(after[1]) };
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => listEvaluations(tx, filter, position, limit),
        ({ place_at: at, place_seq: seq }) => [at, seq],
      );
      return { items: items.map(({ place_at: _at, place_seq: _seq, ...item }) => item), next };
    });
  },

  'evaluations.read': async ({ workspace, params, parts }) =>
    inReadTransaction(parts.readPool, workspace, async (tx) => {
      const {
        seq: _,
        evaluated_at,
        evaluated_key: _key,
        recorded_key,
        previous_key,
        ...evaluation
      } = requireFound(await findStoredEvaluation(tx, params.evaluation));
      const [approval, runs] = await Promise.all([
        findApproval(tx, params.evaluation),
        evaluation.agent === null ? null : readRunsBetweenEvaluations(tx, evaluation.agent.id, { recorded_key, previous_key }),
      ]);
      return {
        ...evaluation,
        notes: notesOf(evaluation),
        details: detailsOf({ ...evaluation, evaluated_at }),
        approval_record: approval ?? null,
        runs,
      };
    }),
});

/** The details that only a detailed evaluation can have: `evaluated_at` and `completeness` as given, the others from its document. */
export function detailsOf({
  document,
  evaluated_at,
  completeness,
}: Pick<StoredEvaluation, 'document' | 'evaluated_at' | 'completeness'>): EvaluationDetails {
  const reported = JSON.parse(document) as DetailedEvaluation;
  return {
    evaluated_at,
    completeness,
    cases: reported.cases ?? null,
    skipped_excluded: reported.skipped_excluded === true,
    suite: reported.suite ?? null,
    blocking_failures: reported.blocking_failures ?? [],
    max_severity: reported.max_severity ?? null,
    results_sha256: reported.results_sha256 ?? null,
    run_url: reported.run_url ?? null,
    trace_ids: reported.trace_ids ?? [],
    artifact: reported.artifact ?? null,
  };
}

/** The notes that the sender of an evaluation added; null if there are none. */
export const notesOf = ({ document }: Pick<StoredEvaluation, 'document'>): string | null =>
  (JSON.parse(document) as { notes?: string | null }).notes ?? null;

/** The agent's runs between the previous evaluation and this one. */
export async function readRunsBetweenEvaluations(
  tx: Transaction,
  agentId: string,
  { recorded_key: to, previous_key: from }: Pick<StoredEvaluation, 'recorded_key' | 'previous_key'>,
): Promise<RelatedRuns> {
  const [totals, models] = await Promise.all([
    sumRunsOfAgent(tx, agentId, { from, to }),
    listModelsOfAgent(tx, agentId, { from, to }),
  ]);
  return { from, to, totals, ...models, counted_max: COUNTED_RUNS_MAX };
}
