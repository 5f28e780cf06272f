import { acceptInvitation, type Entered, resetPassword, setUp, signInByLink } from '../people/join.ts';
import { heldLink } from '../people/one-time-links.ts';
import { findAccount } from '../storage/people.ts';
import { handlers } from './handler.ts';
import { signedInBy } from './session-answer.ts';

const answer = (asked: Parameters<typeof signedInBy>[0], { token, workspaceId }: Entered) =>
  signedInBy(asked, token, workspaceId);

/** One-time links, for their holders. */
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

  'links.set_up': async (asked) => {
    const { body, caller, parts } = asked;
    return answer(asked, await setUp(parts.pool, { ...body, workspaceName: body.workspace_name }, caller));
  },

  'links.accept_invitation': async (asked) => answer(asked, await acceptInvitation(asked.parts.pool, asked.body, asked.caller)),

  'links.reset_password': async (asked) => answer(asked, await resetPassword(asked.parts.pool, asked.body, asked.caller)),

  'links.sign_in': async (asked) => answer(asked, await signInByLink(asked.parts.pool, asked.body.token, asked.caller)),
});
