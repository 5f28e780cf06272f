import { digests } from '../crypto/digests.ts';
import { digestOfSeenFacts, type SeenFacts } from '../ledger/seen-facts.ts';
import type { StoredEvaluation } from '../storage/portal/evaluations.ts';

/**
 * The digest of what a page shows about an evaluation and its agent (`digestOfSeenFacts`). The page sends this digest with the person's
 * action, for example an approval.
 */
export const digestOfShownEvaluation = (evaluation: StoredEvaluation, agent: { id: string; name: string }): string =>
  digestOfSeenFacts(agent.name, seenFactsOf(evaluation, agent.id));

/** What the page shows about an evaluation. All values except the agent's ID are from one row, so they belong to one state. */
const seenFactsOf = (evaluation: StoredEvaluation, agentId: string): SeenFacts => ({
  id: evaluation.id,
  agentId,
  harnessId: evaluation.harness_id,
  name: evaluation.name,
  suite: evaluation.suite,
  category: evaluation.category,
  status: evaluation.status,
  passRate: evaluation.pass_rate,
  recordedAt: evaluation.recorded_key,
  recordedBy: evaluation.recorded_by,
  evaluatedAt: evaluation.evaluated_key,
  documentSha256: digests.sha256Hex(evaluation.document),
});
