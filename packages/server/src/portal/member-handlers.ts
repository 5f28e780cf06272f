import { inTenantTransaction } from '../database/transaction.ts';
import { listMembers } from '../storage/memberships.ts';
import { handlers } from './handler.ts';

/** Who belongs to a workspace. */
export const memberHandlers = handlers({
  'members.list': async ({ workspace, parts }) => {
    const members = await inTenantTransaction(parts.readPool, workspace, listMembers);
    return {
      items: members.map(({ personId, email, name, role, joinedAt }) => ({
        person_id: personId,
        email,
        name,
        role,
        joined_at: joinedAt,
      })),
    };
  },
});
