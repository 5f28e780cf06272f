import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { insertDecisionKey, listDecisionKeys, markDecisionKeyRetired } from '../storage/decision-keys.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { NotThere, Refusal } from './refusal.ts';

/** A decision key's id: says nothing about the key, which is derived. */
export const newDecisionKeyId = (): string => `dk_${randomBytes(6).toString('hex')}`;

/**
 * Adds a second live decision key and returns its id. It waits: gates are given it now, and it signs from the moment the older one is
 * retired, so that no gate ever meets a signature that it cannot check. Refuses a third.
 */
export async function rotateDecisionKey(pool: Pool, tenantId: string, by: Actor): Promise<string> {
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const [first, second] = (await listDecisionKeys(tx)).filter(({ retiredAt }) => retiredAt === null);
    if (second !== undefined)
      throw new Refusal(`two decision keys are live already; retire ${first!.keyId} once all gates have ${second.keyId}`);
    const keyId = newDecisionKeyId();
    await insertDecisionKey(tx, keyId);
    await record({ action: 'decision_key.rotated', subject: keyId, metadata: { key_id: keyId, signing: first?.keyId ?? null } });
    return keyId;
  });
}

/** Ends a decision key for good, never the last live one, and returns the id of the one that signs from now on. */
export async function retireDecisionKey(pool: Pool, tenantId: string, keyId: string, by: Actor): Promise<string> {
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const keys = await listDecisionKeys(tx);
    const key = keys.find((each) => each.keyId === keyId);
    if (key === undefined)
      throw new NotThere(`this workspace has no decision key ${JSON.stringify(keyId)}; \`decision-key list\` shows those it has`);
    if (key.retiredAt !== null) throw new Refusal(`decision key ${keyId} was retired on ${key.retiredAt} already`);
    const next = keys.find((each) => each.retiredAt === null && each.keyId !== keyId);
    if (next === undefined)
      throw new Refusal(`${keyId} is the only live decision key; \`decision-key rotate\` makes the next one first`);
    await markDecisionKeyRetired(tx, keyId);
    await record({ action: 'decision_key.retired', subject: keyId, metadata: { key_id: keyId, signing: next.keyId } });
    return next.keyId;
  });
}

/** Records that a person was shown a decision key: whoever has it can forge decisions, so the ledger says who has seen it. */
export async function recordDecisionKeyShown(pool: Pool, tenantId: string, keyId: string, by: Actor): Promise<void> {
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const keys = await listDecisionKeys(tx);
    if (!keys.some((each) => each.keyId === keyId))
      throw new NotThere(`this workspace has no decision key ${JSON.stringify(keyId)}`);
    await record({ action: 'decision_key.shown', subject: keyId, metadata: { key_id: keyId } });
  });
}
