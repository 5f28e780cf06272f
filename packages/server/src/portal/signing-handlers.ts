import { inReadTransaction } from '../database/transaction.ts';
import { listDecisionKeys } from '../storage/decision-keys.ts';
import { recordDecisionKeyShown, retireDecisionKey, rotateDecisionKey } from '../workspace/decision-keys.ts';
import { handlers } from './handler.ts';

/**
 * The signing keys: the public keys of the instance, and the workspace's decision keys. Every member can read the public keys,
 * and the IDs and states of the decision keys. Only admins can show, rotate or retire a decision key.
 */
export const signingHandlers = handlers({
  'signing.read': async ({ workspace, parts }) => {
    const [keys, { keys: publicKeys }] = await Promise.all([
      inReadTransaction(parts.readPool, workspace, listDecisionKeys),
      parts.reader.publicKeys(),
    ]);
    const signingKey = keys.find(({ retiredAt }) => retiredAt === null);
    const decision_keys = keys.map((key) => ({
      key_id: key.keyId,
      state: key.retiredAt !== null ? ('retired' as const) : key === signingKey ? ('signs' as const) : ('waits' as const),
      created_at: key.createdAt,
      retired_at: key.retiredAt,
    }));
    return { public_keys: publicKeys as Record<string, unknown>[], decision_keys };
  },

  'decision_keys.show': async ({ workspace, params, actor, parts }) => {
    // The entry is written first, so that the ledger records that the key was shown, whatever happens to the response.
    await recordDecisionKeyShown(parts.pool, workspace, params.key, actor);
    return { key_id: params.key, decision_key: Buffer.from(parts.decisionKey(workspace, params.key)).toString('hex') };
  },

  'decision_keys.rotate': async ({ workspace, actor, parts }) => ({
    key_id: await rotateDecisionKey(parts.pool, workspace, actor),
  }),

  'decision_keys.retire': async ({ workspace, params, actor, parts }) => ({
    signing: await retireDecisionKey(parts.pool, workspace, params.key, actor),
  }),
});
