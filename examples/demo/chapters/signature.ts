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

/** Verifies the signature of a decision, and shows that the decision is rejected if one word of it is changed. Returns the decision key. */
export async function verifyDecision(
  narrator: Narrator,
  operator: Operator,
  workspace: string,
  decision: PromotionDecision,
): Promise<string> {
  narrator.startChapter(
    'Why you can trust a decision: it is signed',
    'The server signs each decision with a key that the workspace shares with its gate.',
  );
  const key = await operator.run(['decision-key', 'show', '--workspace', workspace], {
    show: () => '(64 hex digits; also a secret)',
  });
  narrator.printOutput(`response_sha256 ${decision.response_sha256}`);
  narrator.printOutput(`signature ${decision.signature} (${decision.signature_alg}, key ${decision.key_id})`);
  const bytes = new Uint8Array(Buffer.from(key, 'hex'));
  const faultOf = (signed: object): string | null => decisionFault(signed as Record<string, unknown>, bytes, digests) ?? null;
  narrator.check('the signature of the last decision is valid', null, faultOf(decision));
  const forged = { ...decision, allowed: false };
  narrator.check(
    'with one word changed (allowed: false) the decision is rejected',
    true,
    faultOf(forged)?.includes('altered') ?? false,
  );
  narrator.explainWhy(
    'there are proxies, logs and artifacts between server and gate. The gate rejects a response that was changed there.',
  );
  return key;
}
