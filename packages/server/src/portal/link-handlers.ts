import { acceptInvitation, type Entered, resetPassword, setUp, signInByLink } from '../people/join.ts';
import { heldLink } from '../people/one-time-links.ts';
import { findAccount } from '../storage/people.ts';
import { handlers } from './handler.ts';
import type { PortalParts } from './portal-parts.ts';
import { signedInBy } from './session-answer.ts';

const answer = (parts: PortalParts, { token, workspaceId }: Entered) => signedInBy(parts, token, workspaceId);

/** One-time links, by whoever holds one. */
export const linkHandlers = handlers({
  'links.show': async ({ body, parts }) => {
    const { purpose, workspaceId, workspaceName, email, role, expiresAt } = await heldLink(parts.readPool, body.token);
    const account = email === null ? undefined : await findAccount(parts.readPool, email);
    return {
      purpose,
      workspace: workspaceId === null || workspaceName === null ? null : { id: workspaceId, name: workspaceName },
      email,
      role,
      has_account: account !== undefined,
      expires_at: expiresAt,
    };
  },

  'links.set_up': async ({ body, caller, parts }) =>
    answer(parts, await setUp(parts.pool, { ...body, workspaceName: body.workspace_name }, caller)),

  'links.accept_invitation': async ({ body, caller, parts }) => answer(parts, await acceptInvitation(parts.pool, body, caller)),

  'links.reset_password': async ({ body, caller, parts }) => answer(parts, await resetPassword(parts.pool, body, caller)),

  'links.sign_in': async ({ body, caller, parts }) => answer(parts, await signInByLink(parts.pool, body.token, caller)),
});
