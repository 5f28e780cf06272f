import type { Pool } from 'pg';
import { uuidArray } from '../database/binary-array.ts';
import { type Statements, sql } from '../database/transaction.ts';

/** A person, as everything but signing in needs them. */
export interface Person {
  id: string;
  /** As it is compared: without regard to case. */
  email: string;
  name: string;
  hasPassword: boolean;
}

/** A person with what their password is checked against. */
export interface Account extends Person {
  /** argon2id in PHC string form; null for somebody who has never set one. */
  password: string | null;
  /** When it was set, to a microsecond: says whether it is still the one that was checked. */
  passwordChangedAt: string | null;
}

const ACCOUNT = `id, email, name, password, password IS NOT NULL AS "hasPassword", password_changed_at::text AS "passwordChangedAt"`;

/** The account of an e-mail address, in the form in which addresses are compared. */
export async function findAccount(pool: Pool, email: string): Promise<Account | undefined> {
  const { rows } = await pool.query<Account>({
    name: 'find_account',
    text: `SELECT ${ACCOUNT} FROM countersign.people WHERE email = $1`,
    values: [email],
  });
  return rows[0];
}

const BY_EMAIL = sql<Account>('account_by_email', `SELECT ${ACCOUNT} FROM countersign.people WHERE email = $1`);

/** The same inside a transaction. */
export const accountOf = async (tx: Statements, email: string): Promise<Account | undefined> =>
  (await tx.run(BY_EMAIL, [email]))[0];

const LOCK = sql<Account>('lock_account', `SELECT ${ACCOUNT} FROM countersign.people WHERE id = $1 FOR UPDATE`);

/** Locks an account: whoever signs in with its password meanwhile waits, and then finds what it has become. */
export const lockAccount = async (tx: Statements, personId: string): Promise<Account | undefined> =>
  (await tx.run(LOCK, [personId]))[0];

const LOCK_SEVERAL = sql('lock_accounts', `SELECT id FROM countersign.people WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`);

/** Locks several accounts, in one order, so that nobody waits in a circle. */
export const lockAccounts = (tx: Statements, personIds: readonly string[]): Promise<unknown> =>
  tx.run(LOCK_SEVERAL, [uuidArray(personIds)]);

const INSERT = sql<{ id: string }>(
  'insert_person',
  `INSERT INTO countersign.people (id, email, name, password, password_changed_at)
   VALUES ($1, $2, $3, $4::text, CASE WHEN $4::text IS NULL THEN NULL ELSE clock_timestamp() END)
       ON CONFLICT (email) DO NOTHING RETURNING id`,
);

/** Keeps a new person; false when somebody else has just taken the address. */
export const insertPerson = async (
  tx: Statements,
  person: Pick<Account, 'id' | 'email' | 'name' | 'password'>,
): Promise<boolean> => (await tx.run(INSERT, [person.id, person.email, person.name, person.password])).length === 1;

const SET_PASSWORD = sql(
  'set_password',
  `UPDATE countersign.people SET password = $2, password_changed_at = clock_timestamp() WHERE id = $1`,
);

/** Gives a person another password. Their sessions are ended beside it: `deleteSessionsOf`. */
export const setPassword = (tx: Statements, personId: string, password: string): Promise<unknown> =>
  tx.run(SET_PASSWORD, [personId, password]);

/** Keeps the same password hashed at another cost, unless it was changed meanwhile. It counts as unchanged. */
export const replaceHash = (pool: Pool, personId: string, from: string, to: string): Promise<unknown> =>
  pool.query({
    name: 'replace_hash',
    text: `UPDATE countersign.people SET password = $3 WHERE id = $1 AND password = $2`,
    values: [personId, from, to],
  });

const RENAME = sql('rename_person', `UPDATE countersign.people SET name = $2 WHERE id = $1`);

/** Gives a person another name. */
export const renamePerson = (tx: Statements, personId: string, name: string): Promise<unknown> =>
  tx.run(RENAME, [personId, name]);

/** Whether anybody can sign in with a password: before that, the instance is not set up. */
export async function isSetUp(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM countersign.people WHERE password IS NOT NULL) AS found`,
  );
  return rows[0]!.found;
}
