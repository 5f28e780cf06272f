import type { Role } from '@countersign/core/portal/route';
import { BrokenSealError } from '../database/broken-seals.ts';
import { type RawRow, type SealedTable, sealedColumns, sealedInstant, shownInstant } from '../database/sealed-table.ts';
import type { Seals } from '../database/seals.ts';
import { type PersonTransaction, sql, type Transaction } from '../database/transaction.ts';
import { PEOPLE } from './people.ts';
import { TENANTS, tenantIn } from './tenants.ts';

/** The sealed columns of a membership. */
export interface SealedMembership {
  personId: string;
  role: Role;
  joinedAt: string;
}

/** The table and the columns that its seal covers. */
export const MEMBERSHIPS: SealedTable<SealedMembership> = {
  name: 'memberships',
  version: 1,
  columns: [
    { field: 'personId', column: 'person_id', kind: 'plain' },
    { field: 'role', column: 'role', kind: 'plain' },
    { field: 'joinedAt', column: 'joined_at', kind: 'instant' },
  ],
  identifyingFields: ['personId'],
};

const COLUMNS = sealedColumns(MEMBERSHIPS, 'm');

/** The role of a person in the transaction's tenant, from a raw row; undefined if the seal of the row is invalid. */
export const roleIn = (tx: Transaction, raw: RawRow, personId: string): Role | undefined =>
  tx.seals.openRow(MEMBERSHIPS, tx.tenantId, raw, { personId })?.role;

/** A member as shown to other members. */
export interface ListedMember {
  personId: string;
  email: string;
  name: string;
  role: Role;
  joinedAt: string;
}

const LIST = sql<RawRow>(
  'list_members',
  `SELECT ${COLUMNS}, ${sealedColumns(PEOPLE, 'p')}
     FROM countersign.memberships AS m JOIN countersign.people AS p ON p.id = m.person_id
    WHERE m.tenant_id = $1 ORDER BY p.name, p.email`,
);

/** The tenant's members, by name. A member whose membership or person has an invalid seal is omitted, because they have no access. */
export async function listMembers(tx: Transaction): Promise<ListedMember[]> {
  const rows = await tx.run(LIST, [tx.tenantId]);
  return rows.flatMap((raw) => {
    const membership = tx.seals.openRow(MEMBERSHIPS, tx.tenantId, raw);
    const person = membership && tx.seals.openRow(PEOPLE, '', raw, { id: membership.personId });
    if (membership === undefined || person === undefined) return [];
    const { id, email, name } = person;
    return [{ personId: id, email, name, role: membership.role, joinedAt: shownInstant(membership.joinedAt) }];
  });
}

const FIND_ROLE = sql<RawRow>(
  'find_role',
  `SELECT ${COLUMNS} FROM countersign.memberships AS m WHERE m.tenant_id = $1 AND m.person_id = $2`,
);

/**
 * A person's role in the tenant; undefined for a non-member, or if the seal is invalid. The role cannot change while the head of the audit
 * ledger is locked.
 */
export const findRole = async (tx: Transaction, personId: string): Promise<Role | undefined> => {
  const [raw] = await tx.run(FIND_ROLE, [tx.tenantId, personId]);
  return raw === undefined ? undefined : roleIn(tx, raw, personId);
};

const LOCK_ROLE = sql<RawRow>(
  'lock_role',
  `SELECT ${COLUMNS} FROM countersign.memberships AS m WHERE m.tenant_id = $1 AND m.person_id = $2 FOR SHARE`,
);

/** Like `findRole`, and prevents changes of the membership until the transaction ends. */
export const lockRole = async (tx: Transaction, personId: string): Promise<Role | undefined> => {
  const [raw] = await tx.run(LOCK_ROLE, [tx.tenantId, personId]);
  return raw === undefined ? undefined : roleIn(tx, raw, personId);
};

const ADMINS = sql<RawRow>(
  'list_admins',
  `SELECT ${COLUMNS} FROM countersign.memberships AS m WHERE m.tenant_id = $1 AND m.role = 'admin'`,
);

/** The number of admins of the tenant whose memberships have a valid seal. */
export async function countAdmins(tx: Transaction): Promise<number> {
  const rows = await tx.run(ADMINS, [tx.tenantId]);
  const admins = rows.flatMap((raw) => tx.seals.openRow(MEMBERSHIPS, tx.tenantId, raw) ?? []);
  return new Set(admins.filter(({ role }) => role === 'admin').map(({ personId }) => personId)).size;
}

const INSERT = sql<{ role: Role }>(
  'insert_membership',
  `INSERT INTO countersign.memberships (tenant_id, person_id, role, joined_at, seal) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING RETURNING role`,
);

/** Adds a member; false if the person is a member already. */
export const insertMembership = async (tx: Transaction, personId: string, role: Role): Promise<boolean> => {
  const joinedAt = sealedInstant(tx.clock.now());
  const seal = tx.seals.ofRow(MEMBERSHIPS, tx.tenantId, { personId, role, joinedAt });
  return (await tx.run(INSERT, [tx.tenantId, personId, role, joinedAt, seal])).length === 1;
};

const LOCK = sql<RawRow>(
  'lock_membership',
  `SELECT ${COLUMNS} FROM countersign.memberships AS m WHERE m.tenant_id = $1 AND m.person_id = $2 FOR UPDATE`,
);
const CHANGE_ROLE = sql(
  'change_role',
  `UPDATE countersign.memberships SET role = $3, seal = $4 WHERE tenant_id = $1 AND person_id = $2`,
);

/** Changes the role of a member. @throws BrokenSealError if the row is missing or was changed outside the server. */
export async function changeRoleOf(tx: Transaction, personId: string, role: Role): Promise<void> {
  const [raw] = await tx.run(LOCK, [tx.tenantId, personId]);
  const membership = raw === undefined ? undefined : tx.seals.openRow(MEMBERSHIPS, tx.tenantId, raw, { personId });
  if (membership === undefined) throw new BrokenSealError('memberships');
  const seal = tx.seals.ofRow(MEMBERSHIPS, tx.tenantId, { ...membership, role });
  await tx.run(CHANGE_ROLE, [tx.tenantId, personId, role, seal]);
}

const DELETE = sql('delete_membership', `DELETE FROM countersign.memberships WHERE tenant_id = $1 AND person_id = $2`);

/** Ends a membership: the person's next request to the workspace is rejected. */
export const deleteMembership = (tx: Transaction, personId: string): Promise<unknown> => tx.run(DELETE, [tx.tenantId, personId]);

/** A workspace of a person, and their role in it. */
export interface PersonWorkspace {
  workspaceId: string;
  workspaceName: string;
  role: Role;
}

const OF_PERSON = sql<RawRow & { workspaceId: string }>(
  'memberships_of_person',
  `SELECT m.tenant_id AS "workspaceId", ${COLUMNS}, ${sealedColumns(TENANTS, 't')}
     FROM countersign.memberships AS m JOIN countersign.tenants AS t ON t.id = m.tenant_id
    WHERE m.person_id = $1 ORDER BY t.name, t.id`,
);

/**
 * The workspace and the role in a raw row; undefined if the seal of the membership is invalid. If the seal of the workspace is invalid, its
 * name is its ID.
 */
function workspaceIn(
  seals: Seals,
  { workspaceId, ...raw }: RawRow & { workspaceId: string },
  personId: string,
): PersonWorkspace | undefined {
  const membership = seals.openRow(MEMBERSHIPS, workspaceId, raw, { personId });
  return membership && { workspaceId, workspaceName: tenantIn(seals, raw, workspaceId).name, role: membership.role };
}

/** The workspaces of the transaction's person, by name. Row-level security shows no other memberships in this transaction. */
export const membershipsOf = async (tx: PersonTransaction): Promise<PersonWorkspace[]> =>
  (await tx.run(OF_PERSON, [tx.personId])).flatMap((raw) => workspaceIn(tx.seals, raw, tx.personId) ?? []);

/** Sets the person whose memberships row-level security shows. After an empty ID, it shows no person's memberships. */
const SET_VISIBLE_PERSON = sql('set_visible_person', `SELECT set_config('countersign.person_id', $1, true)`);

/**
 * The workspaces of a person, read in a tenant's transaction. Memberships with an invalid seal are omitted. Row-level security shows the
 * person's memberships only to the statement that reads them.
 */
export const workspacesOf = async (tx: Transaction, personId: string): Promise<PersonWorkspace[]> =>
  (await verifiedWorkspacesOf(tx, personId)).flatMap((workspace) => workspace ?? []);

/** Like `workspacesOf`. @throws BrokenSealError if a membership was changed outside the server: the list would be incomplete. */
export async function allWorkspacesOf(tx: Transaction, personId: string): Promise<PersonWorkspace[]> {
  const found = await verifiedWorkspacesOf(tx, personId);
  return found.map((workspace) => {
    if (workspace === undefined) throw new BrokenSealError('memberships');
    return workspace;
  });
}

/** The workspaces of a person; undefined for each membership with an invalid seal. */
async function verifiedWorkspacesOf(tx: Transaction, personId: string): Promise<(PersonWorkspace | undefined)[]> {
  const [, found] = await Promise.all([
    tx.run(SET_VISIBLE_PERSON, [personId]),
    tx.run(OF_PERSON, [personId]),
    tx.run(SET_VISIBLE_PERSON, ['']),
  ]);
  return found.map((raw) => workspaceIn(tx.seals, raw, personId));
}
