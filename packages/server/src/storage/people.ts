import type { Pool } from 'pg';
import { uuidArray } from '../database/binary-array.ts';
import { BrokenSealError } from '../database/broken-seals.ts';
import { type RawRow, type SealedTable, sealedColumns, sealedInstant, sealedInstantAfter } from '../database/sealed-table.ts';
import { requireSeals, type Seals } from '../database/seals.ts';
import { inPersonTransaction, type Statements, sql } from '../database/transaction.ts';

/** A person, without the password. */
export interface Person {
  id: string;
  /** Normalized for comparison (`normalizeEmail`). */
  email: string;
  name: string;
  hasPassword: boolean;
}

/** A person with the hash of their password. */
export interface Account extends Person {
  /** The argon2id hash of the password as a PHC string; null for a person who has never set a password. */
  password: string | null;
  /** When the password was set, UTC with microseconds. It shows whether a checked password is still the current one. */
  passwordChangedAt: string | null;
}

/** The sealed columns of a person. */
export interface SealedPerson {
  id: string;
  email: string;
  name: string;
  password: string | null;
  passwordChangedAt: string | null;
}

/** The columns that the seal covers. */
export const PEOPLE: SealedTable<SealedPerson> = {
  name: 'people',
  version: 1,
  columns: [
    { field: 'id', column: 'id', kind: 'plain' },
    { field: 'email', column: 'email', kind: 'plain' },
    { field: 'name', column: 'name', kind: 'plain' },
    { field: 'password', column: 'password', kind: 'plain' },
    { field: 'passwordChangedAt', column: 'password_changed_at', kind: 'instant' },
  ],
  identifyingFields: ['id'],
};

const ACCOUNT = `SELECT ${sealedColumns(PEOPLE, 'p')} FROM countersign.people AS p`;

/** The account in a row of `ACCOUNT`; undefined if there is none, or its seal is invalid. */
function accountIn(seals: Seals, [raw]: readonly RawRow[], expected: Partial<SealedPerson>): Account | undefined {
  const person = raw === undefined ? undefined : seals.openRow(PEOPLE, '', raw, expected);
  return person === undefined ? undefined : { ...person, hasPassword: person.password !== null };
}

/** The account of a normalized email address; undefined if there is none, or its seal is invalid. */
export async function findAccount(pool: Pool, email: string): Promise<Account | undefined> {
  const { rows } = await pool.query<RawRow>({ name: 'find_account', text: `${ACCOUNT} WHERE p.email = $1`, values: [email] });
  return accountIn(requireSeals(pool), rows, { email });
}

const BY_EMAIL = sql<RawRow>('account_by_email', `${ACCOUNT} WHERE p.email = $1`);

/** Like `findAccount`, in a transaction. */
export const accountOf = async (tx: Statements, email: string): Promise<Account | undefined> =>
  accountIn(tx.seals, await tx.run(BY_EMAIL, [email]), { email });

const LOCK = sql<RawRow>('lock_account', `${ACCOUNT} WHERE p.id = $1 FOR UPDATE`);

/**
 * Locks and returns an account; undefined if there is none, or its seal is invalid. A concurrent sign-in waits, and then reads the new
 * state.
 */
export const lockAccount = async (tx: Statements, personId: string): Promise<Account | undefined> =>
  accountIn(tx.seals, await tx.run(LOCK, [personId]), { id: personId });

const LOCK_SEVERAL = sql('lock_accounts', `SELECT id FROM countersign.people WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`);

/** Locks several accounts in a fixed order, which prevents deadlocks. */
export const lockAccounts = (tx: Statements, personIds: readonly string[]): Promise<unknown> =>
  tx.run(LOCK_SEVERAL, [uuidArray(personIds)]);

const INSERT = sql<{ id: string }>(
  'insert_person',
  `INSERT INTO countersign.people (id, email, name, password, password_changed_at, seal) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (email) DO NOTHING RETURNING id`,
);

/** Stores a new person; false if the email address is registered already. */
export async function insertPerson(
  tx: Statements,
  { id, email, name, password }: Pick<Account, 'id' | 'email' | 'name' | 'password'>,
): Promise<boolean> {
  const passwordChangedAt = password === null ? null : sealedInstant(tx.clock.now());
  const seal = tx.seals.ofRow(PEOPLE, '', { id, email, name, password, passwordChangedAt });
  return (await tx.run(INSERT, [id, email, name, password, passwordChangedAt, seal])).length === 1;
}

const UPDATE = sql(
  'update_person',
  `UPDATE countersign.people SET name = $2, password = $3, password_changed_at = $4, seal = $5 WHERE id = $1`,
);

/** Locks and changes a person. @throws BrokenSealError if the row is missing or was changed outside the server. */
async function changePerson(tx: Statements, personId: string, change: (person: Account) => Partial<SealedPerson>): Promise<void> {
  const person = await lockAccount(tx, personId);
  if (person === undefined) throw new BrokenSealError('people');
  const changed = { ...person, ...change(person) };
  const { name, password, passwordChangedAt } = changed;
  await tx.run(UPDATE, [personId, name, password, passwordChangedAt, tx.seals.ofRow(PEOPLE, '', changed)]);
}

/**
 * Sets the hash of a person's password. Does not end their sessions: see `deleteSessionsOf`.
 * @throws BrokenSealError like `changePerson`.
 */
export const setPassword = (tx: Statements, personId: string, password: string): Promise<void> =>
  changePerson(tx, personId, ({ passwordChangedAt }) => ({
    password,
    passwordChangedAt: sealedInstantAfter(passwordChangedAt, tx.clock.now()),
  }));

/**
 * Replaces the hash `from` by a hash of the same password with another cost, unless the password was changed concurrently.
 * @throws BrokenSealError like `changePerson`.
 */
export const replaceHash = (pool: Pool, personId: string, from: string, to: string): Promise<void> =>
  inPersonTransaction(pool, personId, (tx) =>
    changePerson(tx, personId, ({ password }) => ({ password: password === from ? to : password })),
  );

/** Renames a person. @throws BrokenSealError like `changePerson`. */
export const renamePerson = (tx: Statements, personId: string, name: string): Promise<void> =>
  changePerson(tx, personId, () => ({ name }));

const IS_SET_UP = sql<{ found: boolean }>(
  'is_set_up',
  `SELECT EXISTS (SELECT 1 FROM countersign.people WHERE password IS NOT NULL) AS found`,
);

/** Whether the instance is set up: a person with a password exists. */
export const isSetUp = async (tx: Statements): Promise<boolean> => (await tx.run(IS_SET_UP, []))[0]!.found;
