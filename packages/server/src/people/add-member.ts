import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { newId } from '../new-id.ts';
import { accountOf, insertPerson } from '../storage/people.ts';
import { governanceAct } from '../workspace/governance-act.ts';
import type { ActingPerson } from '../workspace/ingestion-keys.ts';
import { Refusal } from '../workspace/refusal.ts';
import { requireLabel } from '../workspace/wrong-input.ts';
import { comparedEmail } from './email-address.ts';
import { makeMember } from './join.ts';
import { type IssuedLink, issueLink } from './one-time-links.ts';

/**
 * Makes somebody a member without asking them, and returns a link that signs them in. Who has no account gets one without a password:
 * a link of `resetLink` sets it. For the operator alone, who could write it into the database anyway.
 */
export async function addMember(
  pool: Pool,
  tenantId: string,
  { email: given, name, role }: { email: string; name: string; role: Role },
  by: ActingPerson & 'operator',
): Promise<IssuedLink> {
  requireLabel('the name', name);
  const email = comparedEmail(given);
  return governanceAct(pool, tenantId, by, async (act) => {
    const personId = (await accountOf(act.tx, email))?.id ?? newId();
    const isNew = await insertPerson(act.tx, { id: personId, email, name, password: null });
    if (!isNew && (await accountOf(act.tx, email))?.id !== personId)
      throw new Refusal('somebody has just made an account with this e-mail address; try again');
    await makeMember(act, personId, role, { by });
    return issueLink(act.tx, { purpose: 'sign_in', workspaceId: tenantId, personId }, by);
  });
}
