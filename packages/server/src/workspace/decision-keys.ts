import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { findSigningKeyId, insertDecisionKey, listDecisionKeys, markDecisionKeyRetired } from '../storage/decision-keys.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';

/** The ID of a decision key. The key is derived from the master secret and this ID, so each random ID gives another key. */
export const newDecisionKeyId = (): string => `dk_${randomBytes(6).toString('hex')}`;

/**
 * Adds a second live decision key and returns its ID. The new key signs only after the older one is retired. Before that, operators give
 * the new key to the gates, so that no gate receives a signature that it cannot verify.
 * @throws RuleViolationError if two keys are live already.
 * @throws BrokenSealError if no live key has a valid seal. Then a row was changed or deleted outside the server, and a new key would hide
 *   this.
 */
export async function rotateDecisionKey(pool: Pool, tenantId: string, by: Actor): Promise<string> {
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const [first, second] = (await listDecisionKeys(tx)).filter(({ retiredAt }) => retiredAt === null);
    if (second !== undefined)
      throw new RuleViolationError(
        `two decision keys are live already; retire ${first!.keyId} once all gates have ${second.keyId}`,
      );
    const signingKeyId = first?.keyId ?? (await findSigningKeyId(tx));
    const keyId = newDecisionKeyId();
    await insertDecisionKey(tx, keyId);
    record({ action: 'decision_key.rotated', subject: keyId, metadata: { key_id: keyId, signing: signingKeyId } });
    return keyId;
  });
}

/**
 * Retires a decision key permanently. Returns the ID of the key that signs from now on.
 * @throws NotFoundError for an unknown key.
 * @throws RuleViolationError for the last live key, or for a key that is retired already.
 */
export async function retireDecisionKey(pool: Pool, tenantId: string, keyId: string, by: Actor): Promise<string> {
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const keys = await listDecisionKeys(tx);
    const key = keys.find((each) => each.keyId === keyId);
    if (key === undefined)
      throw new NotFoundError(
        `this workspace has no decision key ${JSON.stringify(keyId)}; \`decision-key list\` shows its keys`,
      );
    if (key.retiredAt !== null) throw new RuleViolationError(`decision key ${keyId} was retired on ${key.retiredAt} already`);
    const otherKey = keys.find((each) => each.retiredAt === null && each.keyId !== keyId);
    if (otherKey === undefined)
      throw new RuleViolationError(`${keyId} is the only live decision key; run \`decision-key rotate\` first`);
    await markDecisionKeyRetired(tx, keyId);
    record({ action: 'decision_key.retired', subject: keyId, metadata: { key_id: keyId, signing: otherKey.keyId } });
    return otherKey.keyId;
  });
}

/**
 * Records that a decision key is shown to a person, because anyone who has the key can forge decisions.
 * @throws NotFoundError for an unknown key.
 */
export async function recordDecisionKeyShown(pool: Pool, tenantId: string, keyId: string, by: Actor): Promise<void> {
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const keys = await listDecisionKeys(tx);
    if (!keys.some((each) => each.keyId === keyId))
      throw new NotFoundError(`this workspace has no decision key ${JSON.stringify(keyId)}`);
    record({ action: 'decision_key.shown', subject: keyId, metadata: { key_id: keyId } });
  });
}
