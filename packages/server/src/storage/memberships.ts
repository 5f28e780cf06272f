import type { Role } from '@countersign/core/portal/route';
import { type PersonTransaction, sql, type Transaction } from '../database/transaction.ts';
import { instantText } from './instant-text.ts';

/** A member as the workspace sees them. */
export interface ListedMember {
  personId: string;
  email: string;
  name: string;
  role: Role;
  joinedAt: string;
}

const LIST = sql<ListedMember>(
  'list_members',
  `SELECT m.person_id AS "personId", p.email, p.name, m.role, ${instantText('m.joined_at')} AS "joinedAt"
     FROM countersign.memberships AS m JOIN countersign.people AS p ON p.id = m.person_id
    WHERE m.tenant_id = $1 ORDER BY p.name, p.email`,
);

/** The tenant's members, by name. */
export const listMembers = (tx: Transaction): Promise<ListedMember[]> => tx.run(LIST, [tx.tenantId]);

const FIND_ROLE = sql<{ role: Role }>(
  'find_role',
  `SELECT role FROM countersign.memberships WHERE tenant_id = $1 AND person_id = $2`,
);

/** A person's role in the tenant; undefined for somebody who is no member. Behind the audit log's locked head it cannot change. */
export const findRole = async (tx: Transaction, personId: string): Promise<Role | undefined> =>
  (await tx.run(FIND_ROLE, [tx.tenantId, personId]))[0]?.role;

const HOLD_ROLE = sql<{ role: Role }>(
  'hold_role',
  `SELECT role FROM countersign.memberships WHERE tenant_id = $1 AND person_id = $2 FOR SHARE`,
);

/** The same, and whoever would change or end the membership waits until this transaction ends. */
export const holdRole = async (tx: Transaction, personId: string): Promise<Role | undefined> =>
  (await tx.run(HOLD_ROLE, [tx.tenantId, personId]))[0]?.role;

const COUNT_ADMINS = sql<{ admins: number }>(
  'count_admins',
  `SELECT count(*)::int AS admins FROM countersign.memberships WHERE tenant_id = $1 AND role = 'admin'`,
);

/** How many admins the tenant has. */
export const countAdmins = async (tx: Transaction): Promise<number> => (await tx.run(COUNT_ADMINS, [tx.tenantId]))[0]!.admins;

const INSERT = sql<{ role: Role }>(
  'insert_membership',
  `INSERT INTO countersign.memberships (tenant_id, person_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING role`,
);

/** Makes a person a member; false when they are one. */
export const insertMembership = async (tx: Transaction, personId: string, role: Role): Promise<boolean> =>
  (await tx.run(INSERT, [tx.tenantId, personId, role])).length === 1;

const CHANGE_ROLE = sql('change_role', `UPDATE countersign.memberships SET role = $3 WHERE tenant_id = $1 AND person_id = $2`);

/** Gives a member another role. */
export const changeRoleOf = (tx: Transaction, personId: string, role: Role): Promise<unknown> =>
  tx.run(CHANGE_ROLE, [tx.tenantId, personId, role]);

const DELETE = sql('delete_membership', `DELETE FROM countersign.memberships WHERE tenant_id = $1 AND person_id = $2`);

/** Ends a membership: the person's next request to the workspace is refused. */
export const deleteMembership = (tx: Transaction, personId: string): Promise<unknown> => tx.run(DELETE, [tx.tenantId, personId]);

/** Where a person belongs. */
export interface Belonging {
  workspaceId: string;
  workspaceName: string;
  role: Role;
}

const OF_PERSON = sql<Belonging>(
  'memberships_of_person',
  `SELECT m.tenant_id AS "workspaceId", t.name AS "workspaceName", m.role
     FROM countersign.memberships AS m JOIN countersign.tenants AS t ON t.id = m.tenant_id
    WHERE m.person_id = $1 ORDER BY t.name, t.id`,
);

/** The workspaces that the transaction's person belongs to, by name. Row-level security lets a person see these, and only these. */
export const membershipsOf = (tx: PersonTransaction): Promise<Belonging[]> => tx.run(OF_PERSON, [tx.personId]);

const SEE_PERSON = sql('see_person', `SELECT set_config('countersign.person_id', $1, true)`);

/** Where a person belongs, asked inside a tenant's transaction: row-level security lets it see these rows besides for one statement. */
export async function workspacesOf(tx: Transaction, personId: string): Promise<Belonging[]> {
  const [, found] = await Promise.all([tx.run(SEE_PERSON, [personId]), tx.run(OF_PERSON, [personId]), tx.run(SEE_PERSON, [''])]);
  return found;
}
