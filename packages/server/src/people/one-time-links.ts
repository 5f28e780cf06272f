import { LINK_PAGE, type LinkPurpose } from '@countersign/core/portal/link-routes';
import type { Pool } from 'pg';
import { inPersonTransaction, inTenantTransaction, type Statements } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';
import {
  findLink,
  insertLink,
  type LinkFor,
  type LiveLink,
  lockSetUp,
  useLink,
  voidSetUpLinks,
} from '../storage/one-time-links.ts';
import { isSetUp } from '../storage/people.ts';
import type { ActorName } from '../workspace/actor.ts';
import { hashOfToken, newToken } from './secret-token.ts';

const HOUR_SECONDS = 60 * 60;

/** How long a link can be used, in seconds: what somebody has to be sent and read waits longer than what they ask for now. */
const LIFE_SECONDS: Record<LinkPurpose, number> = {
  set_up: 72 * HOUR_SECONDS,
  invitation: 72 * HOUR_SECONDS,
  password_reset: HOUR_SECONDS,
  sign_in: HOUR_SECONDS,
};

/** A link as it is handed out, this once. */
export interface IssuedLink {
  id: string;
  /** Path and fragment; the address of the portal goes in front. */
  path: string;
  expiresAt: string;
}

/** Makes a link. Its token stands in the fragment: no browser sends it to a server, writes it into a Referer or a server's log. */
export async function issueLink(
  tx: Statements,
  made: Pick<LinkFor, 'purpose'> & Partial<LinkFor>,
  madeBy: ActorName,
): Promise<IssuedLink> {
  const { token, tokenSha256 } = newToken();
  const id = newId();
  const nobody = { workspaceId: null, personId: null, email: null, role: null };
  const expiresAt = await insertLink(tx, { ...nobody, ...made, id, tokenSha256, madeBy, seconds: LIFE_SECONDS[made.purpose] });
  return { id, path: `${LINK_PAGE}#${token}`, expiresAt };
}

/** The link for the set-up of the instance while nobody is set up; undefined when somebody is. */
export async function setUpLink(pool: Pool): Promise<IssuedLink | undefined> {
  if (await isSetUp(pool)) return undefined;
  return inPersonTransaction(pool, newId(), (tx) => issueLink(tx, { purpose: 'set_up' }, 'operator'));
}

/** A link by which somebody becomes the first admin of a workspace that the operator has made. */
export const workspaceSetUpLink = (pool: Pool, workspaceId: string): Promise<IssuedLink> =>
  inTenantTransaction(pool, workspaceId, (tx) => issueLink(tx, { purpose: 'set_up', workspaceId, role: 'admin' }, 'operator'));

/**
 * Ends the links for the set-up of the instance, in the transaction that gives somebody a password. One at a time: each of several links
 * is a row, and two that were used at once would wait for each other's.
 */
export async function endSetUp(tx: Statements): Promise<void> {
  await Promise.all([lockSetUp(tx), voidSetUpLinks(tx)]);
}

/** A link that somebody holds. */
export interface HeldLink extends LiveLink {
  /** Uses it up, in the transaction of what it is for. @throws ApiError `link_not_valid` when somebody else was first. */
  use(tx: Statements): Promise<void>;
}

/** The link of a token, of one purpose where one is asked for. @throws ApiError `link_not_valid` */
export async function heldLink(pool: Pool, token: string, purpose?: LinkPurpose): Promise<HeldLink> {
  const tokenSha256 = hashOfToken(token);
  const link = tokenSha256 === undefined ? undefined : await findLink(pool, tokenSha256);
  if (tokenSha256 === undefined || link === undefined || (purpose !== undefined && link.purpose !== purpose)) throw notValid();
  const use = async (tx: Statements) => {
    if (!(await useLink(tx, tokenSha256))) throw notValid();
  };
  return { ...link, use };
}

/** One answer whether it is unknown, used, withdrawn or expired. */
const notValid = (): ApiError => new ApiError('link_not_valid');
