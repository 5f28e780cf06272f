import { acceptInvitation, resetPassword, type StartedSession, setUp, signInByLink } from '../people/join.ts';
import { requireLink } from '../people/one-time-links.ts';
import { findAccount } from '../storage/people.ts';
import { handlers } from './handler.ts';
import { signInResponse } from './session-response.ts';

const startedSessionResponse = (request: Parameters<typeof signInResponse>[0], { token, workspaceId }: StartedSession) =>
  signInResponse(request, token, workspaceId);

/** One-time links, for their holders. */
export const linkHandlers = handlers({
  'links.show': async ({ body, parts }) => {
    const { purpose, workspaceId, workspaceName, email, role, expiresAt } = await requireLink(parts.readPool, body.token);
    const account = email === null ? undefined : await findAccount(parts.readPool, email);
    return {
      purpose,
      workspace: workspaceId === null || workspaceName === null ? null : { id: workspaceId, name: workspaceName },
      email,
      role,
      account: account === undefined ? 'none' : account.password === null ? 'without_password' : 'with_password',
      expires_at: expiresAt,
    };
  },

  'links.set_up': async (request) => {
    const { body, caller, parts } = request;
    return startedSessionResponse(request, await setUp(parts.pool, { ...body, workspaceName: body.workspace_name }, caller));
  },

  'links.accept_invitation': async (request) =>
    startedSessionResponse(request, await acceptInvitation(request.parts.pool, request.body, request.caller)),

  'links.reset_password': async (request) =>
    startedSessionResponse(request, await resetPassword(request.parts.pool, request.body, request.caller)),

  'links.sign_in': async (request) =>
    startedSessionResponse(request, await signInByLink(request.parts.pool, request.body.token, request.caller)),
});
