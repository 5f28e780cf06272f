import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import type { Narrator } from '../narrator.ts';
import { AGENT } from '../support-bot-runs.ts';

const PATH = '/api/public/audit';

/** Appends a tenant's own entries to the ledger. Returns the row_hash that CI would keep in its log. */
export async function appendOwnEntries(narrator: Narrator, api: Api, decision: PromotionDecision): Promise<string> {
  narrator.startChapter(
    'Who did what: the audit ledger',
    'The pipeline deploys the agent and records the deployment. Each entry contains the hash of the entry before it.',
  );
  const deployment = await api.store('ci', PATH, {
    actor: 'ci:deploy-prod',
    action: 'agent.promoted',
    subject: AGENT,
    rationale: 'the gate allowed it',
    metadata: { decision_id: decision.decision_id },
  });
  const confirmation = await api.store('ci', PATH, { actor: 'ci:deploy-prod', action: 'deployment.finished', subject: AGENT });
  narrator.check('the second entry names the hash of the first', deployment.body.row_hash, confirmation.body.prev_hash);
  narrator.explainWhy(
    'if you keep one row_hash, for example in a build log, you can later detect a change of its entry or of an earlier one.',
  );
  return String(confirmation.body.row_hash);
}
