import type { LinkPurpose } from '@countersign/core/portal/link-routes';
import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { type RawRow, type SealedTable, sealedColumns, sealedInstant, shownInstant } from '../database/sealed-table.ts';
import { requireSeals } from '../database/seals.ts';
import { type Statements, sql, type Transaction } from '../database/transaction.ts';
import { isExpired } from './expiry-clock.ts';
import { PEOPLE } from './people.ts';
import { TENANTS, tenantIn } from './tenants.ts';

/** What a one-time link grants, where, and to whom. */
export interface LinkGrant {
  purpose: LinkPurpose;
  /** Null for the set-up of the instance, and for links that concern only a person. */
  workspaceId: string | null;
  personId: string | null;
  email: string | null;
  role: Role | null;
}

/** A link ready to be stored: the SHA-256 of its token, never the token. */
export interface NewLinkRow extends LinkGrant {
  id: string;
  tokenSha256: Buffer;
  /** Who made the link: `operator`, or `user:<ID of a person>`. */
  madeBy: string;
  lifetimeSeconds: number;
}

/** The sealed columns of a link: all of them. */
export interface SealedLink extends LinkGrant {
  tokenSha256: Buffer;
  id: string;
  madeBy: string;
  createdAt: string;
  expiresAt: string;
}

/** The columns that the seal covers. */
export const ONE_TIME_LINKS: SealedTable<SealedLink> = {
  name: 'one_time_links',
  version: 1,
  columns: [
    { field: 'tokenSha256', column: 'token_sha256', kind: 'plain' },
    { field: 'id', column: 'id', kind: 'plain' },
    { field: 'purpose', column: 'purpose', kind: 'plain' },
    { field: 'workspaceId', column: 'tenant_id', kind: 'plain' },
    { field: 'personId', column: 'person_id', kind: 'plain' },
    { field: 'email', column: 'email', kind: 'plain' },
    { field: 'role', column: 'role', kind: 'plain' },
    { field: 'madeBy', column: 'made_by', kind: 'plain' },
    { field: 'createdAt', column: 'created_at', kind: 'instant' },
    { field: 'expiresAt', column: 'expires_at', kind: 'instant' },
  ],
  identifyingFields: ['id'],
};

const COLUMNS = sealedColumns(ONE_TIME_LINKS, 'l');

const INSERT = sql(
  'insert_link',
  `INSERT INTO countersign.one_time_links
     (token_sha256, id, purpose, tenant_id, person_id, email, role, made_by, created_at, expires_at, seal)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
);

/** Stores a new link. Returns the time when it expires. */
export async function insertLink(tx: Statements, { lifetimeSeconds, ...link }: NewLinkRow): Promise<string> {
  const now = tx.clock.now();
  const [createdAt, expiresAt] = [sealedInstant(now), sealedInstant(new Date(now.getTime() + lifetimeSeconds * 1000))];
  const { tokenSha256, id, purpose, workspaceId, personId, email, role, madeBy } = link;
  const seal = tx.seals.ofRow(ONE_TIME_LINKS, '', { ...link, createdAt, expiresAt });
  await tx.run(INSERT, [tokenSha256, id, purpose, workspaceId, personId, email, role, madeBy, createdAt, expiresAt, seal]);
  return shownInstant(expiresAt);
}

/** A link that can still be used, with what its holder may see. */
export interface LiveLink extends LinkGrant {
  id: string;
  workspaceName: string | null;
  expiresAt: string;
}

/**
 * The link with the hash of a token; undefined if the link was used or has expired, or if its seal or the seal of its person is invalid.
 * The search is across tenants, because the holder is not signed in. The name of a workspace with an invalid seal is its ID.
 */
export async function findLink(pool: Pool, tokenSha256: Buffer): Promise<LiveLink | undefined> {
  const [clock, seals] = [clockOf(pool), requireSeals(pool)];
  const { rows } = await pool.query<RawRow>({
    name: 'find_link',
    text: `SELECT ${COLUMNS}, ${sealedColumns(TENANTS, 't')}, ${sealedColumns(PEOPLE, 'p')}
             FROM countersign.one_time_links AS l
             LEFT JOIN countersign.tenants AS t ON t.id = l.tenant_id
             LEFT JOIN countersign.people AS p ON p.id = l.person_id
            WHERE l.token_sha256 = $1 AND NOT ${isExpired('l', 2)}`,
    values: [tokenSha256, ...clock.expiryBounds()],
  });
  const [raw] = rows;
  const link = raw === undefined ? undefined : seals.openRow(ONE_TIME_LINKS, '', raw, { tokenSha256 });
  if (raw === undefined || link === undefined || link.expiresAt <= sealedInstant(clock.now())) return undefined;
  const { id, purpose, workspaceId, personId, role } = link;
  const person = personId === null ? undefined : seals.openRow(PEOPLE, '', raw, { id: personId });
  if (personId !== null && person === undefined) return undefined;
  const workspaceName = workspaceId === null ? null : tenantIn(seals, raw, workspaceId).name;
  const email = link.email ?? person?.email ?? null;
  return { id, purpose, workspaceId, workspaceName, personId, email, role, expiresAt: shownInstant(link.expiresAt) };
}

const USE = sql<{ id: string }>(
  'use_link',
  `DELETE FROM countersign.one_time_links AS l WHERE l.token_sha256 = $1 AND NOT ${isExpired('l', 2)} RETURNING l.id`,
);

/** Deletes a link when it is used; false if it was deleted before, or has expired. Of two concurrent calls only one succeeds. */
export const useLink = async (tx: Statements, tokenSha256: Buffer): Promise<boolean> =>
  (await tx.run(USE, [tokenSha256, ...tx.clock.expiryBounds()])).length === 1;

const VOID_SET_UP = sql(
  'void_set_up_links',
  `DELETE FROM countersign.one_time_links WHERE purpose = 'set_up' AND tenant_id IS NULL`,
);

/** Deletes every link for the set-up of the instance, because the instance is set up. */
export const voidSetUpLinks = (tx: Statements): Promise<unknown> => tx.run(VOID_SET_UP, []);

const VOID_WORKSPACE_SET_UP = sql(
  'void_workspace_set_up_links',
  `DELETE FROM countersign.one_time_links WHERE tenant_id = $1 AND purpose = 'set_up'`,
);

/** Deletes the set-up links of the tenant, because it has an admin. */
export const voidWorkspaceSetUpLinks = (tx: Transaction): Promise<unknown> => tx.run(VOID_WORKSPACE_SET_UP, [tx.tenantId]);

/** A pending invitation. */
export interface ListedInvitation {
  id: string;
  email: string;
  role: Role;
  madeBy: string;
  createdAt: string;
  expiresAt: string;
}

/** The maximum number of listed invitations. The rows of a longer list would delay the requests of other workspaces. */
const LISTED_MAX = 1_000;

const LIST_INVITATIONS = sql<RawRow>(
  'list_invitations',
  `SELECT ${COLUMNS} FROM countersign.one_time_links AS l
    WHERE l.tenant_id = $1 AND l.purpose = 'invitation' AND NOT ${isExpired('l', 2)}
    ORDER BY l.created_at DESC, l.id LIMIT ${LISTED_MAX}`,
);

/** The pending invitations of the tenant, newest first, at most LISTED_MAX. Invitations with an invalid seal are omitted. */
export async function listInvitations(tx: Transaction): Promise<ListedInvitation[]> {
  const rows = await tx.run(LIST_INVITATIONS, [tx.tenantId, ...tx.clock.expiryBounds()]);
  return rows.flatMap((raw) => {
    const link = tx.seals.openRow(ONE_TIME_LINKS, '', raw, { workspaceId: tx.tenantId, purpose: 'invitation' });
    if (link === undefined || link.email === null || link.role === null) return [];
    const { id, email, role, madeBy, createdAt, expiresAt } = link;
    return [{ id, email, role, madeBy, createdAt: shownInstant(createdAt), expiresAt: shownInstant(expiresAt) }];
  });
}

const FIND_INVITATION = sql<RawRow>(
  'find_invitation',
  `SELECT ${COLUMNS} FROM countersign.one_time_links AS l
    WHERE l.tenant_id = $1 AND l.id = $2 AND l.purpose = 'invitation' AND NOT ${isExpired('l', 3)}`,
);
const WITHDRAW = sql<{ id: string }>(
  'withdraw_invitation',
  'DELETE FROM countersign.one_time_links WHERE tenant_id = $1 AND id = $2 RETURNING id',
);

/** Deletes an invitation of the tenant, and returns its role. Undefined if no pending invitation has this ID, or its seal is invalid. */
export async function withdrawInvitation(tx: Transaction, id: string): Promise<Role | undefined> {
  const [raw] = await tx.run(FIND_INVITATION, [tx.tenantId, id, ...tx.clock.expiryBounds()]);
  const link = raw && tx.seals.openRow(ONE_TIME_LINKS, '', raw, { id, workspaceId: tx.tenantId });
  if (link === undefined || (await tx.run(WITHDRAW, [tx.tenantId, id])).length === 0) return undefined;
  return link.role ?? undefined;
}

const VOID_INVITATIONS = sql(
  'void_invitations',
  `DELETE FROM countersign.one_time_links WHERE tenant_id = $1 AND purpose = 'invitation' AND email = $2`,
);

/** Deletes the tenant's invitations for an email address, because a new invitation replaces them, or the person has joined. */
export const voidInvitations = (tx: Transaction, email: string): Promise<unknown> =>
  tx.run(VOID_INVITATIONS, [tx.tenantId, email]);

const VOID_MADE_BY = sql(
  'void_links_made_by',
  `DELETE FROM countersign.one_time_links WHERE made_by = $2 AND (tenant_id = $1 OR purpose = 'password_reset')`,
);

/**
 * Deletes the links that a former admin has made in the tenant, so that the person cannot return through such a link. Password reset links
 * that the person has made are deleted in all tenants, because a reset password gives access to this tenant too.
 * @param madeBy `user:<ID of the person>`.
 */
export const voidLinksMadeBy = (tx: Transaction, madeBy: string): Promise<unknown> => tx.run(VOID_MADE_BY, [tx.tenantId, madeBy]);

const VOID_OF_PERSON = sql('void_links_of_person', `DELETE FROM countersign.one_time_links WHERE person_id = $1`);

/** Deletes all links about a person, because the person's password or workspaces have changed. */
export const voidLinksOf = (tx: Statements, personId: string): Promise<unknown> => tx.run(VOID_OF_PERSON, [personId]);

const VOID_OF_MEMBER = sql(
  'void_links_of_member',
  'DELETE FROM countersign.one_time_links WHERE tenant_id = $1 AND person_id = $2',
);

/** Deletes the tenant's links for a person, because the person is no longer a member. Such a link opens the workspace of the tenant. */
export const voidLinksOfMember = (tx: Transaction, personId: string): Promise<unknown> =>
  tx.run(VOID_OF_MEMBER, [tx.tenantId, personId]);

/** The number of the advisory lock of `lockSetUp`: the bytes of 'CSSTUP'. */
const SET_UP_LOCK = 0x43_53_53_54_55_50;

const LOCK_SET_UP = sql('lock_set_up', `SELECT pg_advisory_xact_lock($1)`);

/** Locks the set-up of the instance until the transaction ends. Two set-up links are two rows, so a row lock is not enough. */
export const lockSetUp = (tx: Statements): Promise<unknown> => tx.run(LOCK_SET_UP, [SET_UP_LOCK]);

/** Deletes expired links, and those that were created while a clock was ahead. */
export const deleteExpiredLinks = (pool: Pool): Promise<unknown> =>
  pool.query(`DELETE FROM countersign.one_time_links AS l WHERE ${isExpired('l', 1)}`, [...clockOf(pool).expiryBounds()]);
