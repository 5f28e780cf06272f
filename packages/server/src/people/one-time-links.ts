import { LINK_PAGE, type LinkPurpose } from '@countersign/core/portal/link-routes';
import type { Pool } from 'pg';
import { inPersonTransaction, inTenantTransaction, type Statements } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';
import {
  findLink,
  insertLink,
  type LinkGrant,
  type LiveLink,
  lockSetUp,
  useLink,
  voidSetUpLinks,
} from '../storage/one-time-links.ts';
import { isSetUp } from '../storage/people.ts';
import type { ActorName } from '../workspace/actor.ts';
import { hashOfToken, newToken } from './secret-token.ts';

const HOUR_SECONDS = 60 * 60;

/** The lifetimes of links in seconds. Set-up links and invitations are valid longer than links that a person uses at once. */
const LIFETIME_SECONDS: Record<LinkPurpose, number> = {
  set_up: 72 * HOUR_SECONDS,
  invitation: 72 * HOUR_SECONDS,
  password_reset: HOUR_SECONDS,
  sign_in: HOUR_SECONDS,
};

/** A new link, which is shown only once. */
export interface IssuedLink {
  id: string;
  /** Path and fragment of the link, to be appended to the address of the portal. */
  path: string;
  expiresAt: string;
}

/** Creates a link. Its token is in the fragment. Browsers send a fragment neither to the server nor in a Referer, so no server logs it. */
export async function issueLink(
  tx: Statements,
  grant: Pick<LinkGrant, 'purpose'> & Partial<LinkGrant>,
  madeBy: ActorName,
): Promise<IssuedLink> {
  const { token, tokenSha256 } = newToken();
  const id = newId();
  const noTarget = { workspaceId: null, personId: null, email: null, role: null };
  const lifetimeSeconds = LIFETIME_SECONDS[grant.purpose];
  const expiresAt = await insertLink(tx, { ...noTarget, ...grant, id, tokenSha256, madeBy, lifetimeSeconds });
  return { id, path: `${LINK_PAGE}#${token}`, expiresAt };
}

/** A new set-up link of the instance; undefined after a person has set a password. */
export function createSetUpLink(pool: Pool): Promise<IssuedLink | undefined> {
  return inPersonTransaction(pool, newId(), async (tx) => {
    await lockSetUp(tx); // A person who sets a password at the same time holds the lock until the commit.
    return (await isSetUp(tx)) ? undefined : issueLink(tx, { purpose: 'set_up' }, 'operator');
  });
}

/** A link for the first admin of a workspace that the operator has created. */
export const createWorkspaceSetUpLink = (pool: Pool, workspaceId: string): Promise<IssuedLink> =>
  inTenantTransaction(pool, workspaceId, (tx) => issueLink(tx, { purpose: 'set_up', workspaceId, role: 'admin' }, 'operator'));

/**
 * Ends the set-up links of the instance, in the transaction that creates a password. It takes a lock. Without the lock, two concurrent
 * requests with different links would wait for each other's row.
 */
export async function endSetUp(tx: Statements): Promise<void> {
  await Promise.all([lockSetUp(tx), voidSetUpLinks(tx)]);
}

/** A valid link. */
export interface UsableLink extends LiveLink {
  /**
   * Marks the link as used, in the transaction that does what the link is for.
   * @throws ApiError `link_not_valid` if it has been used, withdrawn or expired since.
   */
  use(tx: Statements): Promise<void>;
}

/** Returns the valid link with a token. If a purpose is given, the link must have this purpose. @throws ApiError `link_not_valid` */
export async function requireLink(pool: Pool, token: string, purpose?: LinkPurpose): Promise<UsableLink> {
  const tokenSha256 = hashOfToken(token);
  const link = tokenSha256 === undefined ? undefined : await findLink(pool, tokenSha256);
  if (tokenSha256 === undefined || link === undefined || (purpose !== undefined && link.purpose !== purpose))
    throw linkNotValid();
  const use = async (tx: Statements) => {
    if (!(await useLink(tx, tokenSha256))) throw linkNotValid();
  };
  return { ...link, use };
}

/** The same error for an unknown, used, withdrawn or expired link. */
const linkNotValid = (): ApiError => new ApiError('link_not_valid');
