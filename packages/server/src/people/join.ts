import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { inPersonTransaction, inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { insertMembership } from '../storage/memberships.ts';
import { lockSetUp, voidInvitations, voidLinksOf, voidWorkspaceSetUpLinks } from '../storage/one-time-links.ts';
import { findAccount, lockAccount } from '../storage/people.ts';
import { insertSession } from '../storage/sessions.ts';
import { personName } from '../workspace/actor.ts';
import { createWorkspaceBy } from '../workspace/create-workspace.ts';
import { type Act, actIn } from '../workspace/governance-act.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { type Claimant, claimAccount, identifyClaimant } from './claimant.ts';
import { normalizeEmail } from './email-address.ts';
import { requireLink } from './one-time-links.ts';
import { hashNewPassword } from './password-hash.ts';
import { replacePassword } from './passwords.ts';
import { newSession } from './sessions.ts';
import type { Caller } from './sign-in.ts';

/**
 * A new session: its token for the cookie, and the workspace to open. The workspace is null after a password reset whose link names no
 * workspace.
 */
export interface StartedSession {
  token: string;
  workspaceId: string | null;
}

/** The input of a person who opens a link. */
export interface LinkInput {
  token: string;
  name?: string | undefined;
  password: string;
}

/**
 * Makes a person an admin and starts their session: in a new workspace if the link is for the instance, otherwise in the link's workspace.
 * @throws ApiError `link_not_valid`, `validation_failed` without a name for a new workspace, or the errors of `identifyClaimant`,
 * `claimAccount` and `makeMember`.
 * @throws InvalidInputError if the name of a new workspace is not valid.
 */
export async function setUp(
  pool: Pool,
  input: LinkInput & { email: string; workspaceName?: string | undefined },
  caller: Caller,
): Promise<StartedSession> {
  const link = await requireLink(pool, input.token, 'set_up');
  const { workspaceName } = input;
  if (link.workspaceId === null && workspaceName === undefined)
    throw validationFailed({ path: '/workspace_name', code: 'required', message: 'workspace_name is required' });
  const claimant = await identifyClaimant(pool, { ...input, name: input.name }, caller);
  const join = async (act: Act) => {
    if (link.workspaceId === null) await lockSetUp(act.tx);
    await link.use(act.tx);
    return startMembership(act, claimant, 'admin', { by: 'set_up' }, caller);
  };
  const by = personName(claimant.id);
  return link.workspaceId === null
    ? createWorkspaceBy(pool, workspaceName!, by, join)
    : inTenantTransaction(pool, link.workspaceId, (tx) => actIn(tx, by, join));
}

/**
 * Joins the workspace of an invitation with the role that the invitation names.
 * @throws RuleViolationError if the account has no password.
 * @throws ApiError `link_not_valid`, or the errors of `identifyClaimant`, `claimAccount` and `makeMember`.
 */
export async function acceptInvitation(pool: Pool, input: LinkInput, caller: Caller): Promise<StartedSession> {
  const link = await requireLink(pool, input.token, 'invitation');
  const { email, role, workspaceId } = link;
  if (email === null || role === null || workspaceId === null)
    throw new Error(`invitation ${link.id} has no address, role or workspace`);
  if ((await findAccount(pool, normalizeEmail(email)))?.hasPassword === false)
    throw new RuleViolationError(
      'this account has no password; ask the operator for a link that sets one: `countersign-server members reset-password`',
    );
  const claimant = await identifyClaimant(pool, { ...input, email, name: input.name }, caller);
  const join = async (act: Act) => {
    await link.use(act.tx);
    return startMembership(act, claimant, role, { by: 'invitation', invitation_id: link.id }, caller);
  };
  return inTenantTransaction(pool, workspaceId, (tx) => actIn(tx, personName(claimant.id), join));
}

/** Makes a claimant a member, with an entry in the ledger, and starts their session. */
async function startMembership(
  act: Act,
  claimant: Claimant,
  role: Role,
  otherMetadata: Record<string, string>,
  caller: Caller,
): Promise<StartedSession> {
  await claimAccount(act.tx, claimant);
  await makeMember(act, claimant, role, otherMetadata);
  const { token, row } = newSession(claimant.id, caller.userAgent);
  await insertSession(act.tx, row);
  return { token, workspaceId: act.tx.tenantId };
}

/**
 * Makes an account a member. `voidLinksOf` needs a locked account: `claimAccount` has created or locked it, or the insert of the membership
 * locks it by its foreign key. These links become invalid:
 * - pending links that reset the person's password or sign them in, because their creator must not gain access to this workspace;
 * - the person's pending invitations to the workspace, because the person could return with one after being removed;
 * - if the person is an admin, the set-up links of the workspace, because its admins can neither see nor withdraw these.
 * @throws RuleViolationError if the account is a member already.
 */
export async function makeMember(
  { tx, record }: Pick<Act, 'record'> & { tx: Transaction },
  { id, email }: Pick<Claimant, 'id' | 'email'>,
  role: Role,
  otherMetadata: Record<string, string>,
): Promise<void> {
  if (!(await insertMembership(tx, id, role))) throw new RuleViolationError('this person is a member of the workspace already');
  record({ action: 'member.joined', subject: personName(id), metadata: { role, ...otherMetadata } });
  await Promise.all([
    voidLinksOf(tx, id),
    voidInvitations(tx, email),
    ...(role === 'admin' ? [voidWorkspaceSetUpLinks(tx)] : []),
  ]);
}

/** Sets a new password by a link. All sessions of the person end, and a new one starts. @throws ApiError `link_not_valid`, `unavailable` */
export async function resetPassword(pool: Pool, { token, password }: LinkInput, caller: Caller): Promise<StartedSession> {
  const link = await requireLink(pool, token, 'password_reset');
  const hash = await hashNewPassword(password);
  const personId = link.personId!;
  return inPersonTransaction(pool, personId, async (tx) => {
    await lockAccount(tx, personId); // Callers of `voidLinksOf` lock the account first. Another order could deadlock.
    await link.use(tx);
    return { token: await replacePassword(tx, personId, hash, caller), workspaceId: link.workspaceId };
  });
}

/** Signs in by a link. @throws ApiError `link_not_valid` */
export async function signInByLink(pool: Pool, token: string, caller: Caller): Promise<StartedSession> {
  const link = await requireLink(pool, token, 'sign_in');
  const personId = link.personId!;
  const { token: sessionToken, row } = newSession(personId, caller.userAgent);
  return inPersonTransaction(pool, personId, async (tx) => {
    await lockAccount(tx, personId);
    await link.use(tx);
    await insertSession(tx, row);
    return { token: sessionToken, workspaceId: link.workspaceId };
  });
}
