import { createHmac, hash } from 'node:crypto';
import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import type { Digests } from '@countersign/core/domain/digests';
import type { Narrator } from '../narrator.ts';
import type { Operator } from '../operator.ts';

const digests: Digests = {
  sha256Hex: (text) => hash('sha256', text, 'hex'),
  hmacSha256Hex: (key, text) => createHmac('sha256', key).update(text, 'utf8').digest('hex'),
};

/** Checks the signature of a decision, and that one changed word breaks it. Returns the decision key. */
export async function believeTheAnswer(
  narrator: Narrator,
  operator: Operator,
  workspace: string,
  decision: PromotionDecision,
): Promise<string> {
  narrator.chapter(
    'Why believe an answer: it is signed',
    'Each decision is signed with a key that the workspace shares with its gate.',
  );
  const key = await operator.run(['decision-key', 'show', '--workspace', workspace], {
    show: () => '(64 hex digits; a secret too)',
  });
  narrator.answer(`response_sha256 ${decision.response_sha256}`);
  narrator.answer(`signature ${decision.signature} (${decision.signature_alg}, key ${decision.key_id})`);
  const bytes = new Uint8Array(Buffer.from(key, 'hex'));
  const fault = (answer: object): string | null => decisionFault(answer as Record<string, unknown>, bytes, digests) ?? null;
  narrator.holds('the last answer is as it was signed', null, fault(decision));
  const forged = { ...decision, allowed: false };
  narrator.holds('with one word changed (allowed: false) it is refused', true, fault(forged)?.includes('altered') ?? false);
  narrator.why('between server and gate there are proxies, logs and artifacts. An answer altered on the way cannot pass.');
  return key;
}
