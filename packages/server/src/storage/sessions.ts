import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import { type Clock, clockOf } from '../database/clock.ts';
import { type RawRow, rawName, type SealedTable, sealedColumns, sealedInstant, shownInstant } from '../database/sealed-table.ts';
import { requireSeals, type Seals } from '../database/seals.ts';
import { type PersonTransaction, type Statements, sql, type Transaction } from '../database/transaction.ts';
import { isExpired } from './expiry-clock.ts';
import { instantText } from './instant-text.ts';
import { MEMBERSHIPS, roleIn } from './memberships.ts';
import { PEOPLE } from './people.ts';
import { TENANTS } from './tenants.ts';

/** An active session with its person. */
export interface LiveSession {
  sessionId: string;
  expiresAt: string;
  personId: string;
  email: string;
  name: string;
  hasPassword: boolean;
  /** Whether the recorded time of last use differs from now by more than a minute. */
  needsTouch: boolean;
}

/** The sealed columns of a session. */
export interface SealedSession {
  tokenSha256: Buffer;
  id: string;
  personId: string;
  createdAt: string;
  expiresAt: string;
}

/** The columns that the seal covers. The time of last use and the browser are not sealed, because they grant nothing. */
export const SESSIONS: SealedTable<SealedSession> = {
  name: 'sessions',
  version: 1,
  columns: [
    { field: 'tokenSha256', column: 'token_sha256', kind: 'plain' },
    { field: 'id', column: 'id', kind: 'plain' },
    { field: 'personId', column: 'person_id', kind: 'plain' },
    { field: 'createdAt', column: 'created_at', kind: 'instant' },
    { field: 'expiresAt', column: 'expires_at', kind: 'instant' },
  ],
  identifyingFields: ['id'],
};

/** SQL that is true if the time of last use differs from now by more than a minute. It can be in the future if a clock was ahead. */
const NEEDS_TOUCH = `s.last_used_at NOT BETWEEN statement_timestamp() - interval '1 minute' AND statement_timestamp() + interval '1 minute'`;
const LIVE = `${sealedColumns(SESSIONS, 's')}, ${sealedColumns(PEOPLE, 'p')}, ${NEEDS_TOUCH} AS "needsTouch"`;
const FROM_LIVE = `FROM countersign.sessions AS s JOIN countersign.people AS p ON p.id = s.person_id`;
/** SQL that is true for a session that has not expired. @param first the number of the first parameter, as for `isExpired`. */
const isLive = (first: number): string => `NOT ${isExpired('s', first)}`;

/** The session in a row of `LIVE`; undefined if a seal is invalid, or if the session has expired by the server's clock. */
function liveIn({ seals, clock }: { seals: Seals; clock: Clock }, raw: RawRow | undefined, tokenSha256: Buffer) {
  const session = raw === undefined ? undefined : seals.openRow(SESSIONS, '', raw, { tokenSha256 });
  if (raw === undefined || session === undefined || session.expiresAt <= sealedInstant(clock.now())) return undefined;
  const person = seals.openRow(PEOPLE, '', raw, { id: session.personId });
  if (person === undefined) return undefined;
  const { id: sessionId, expiresAt } = session;
  const { id: personId, email, name, password } = person;
  const needsTouch = raw.needsTouch === true;
  return { sessionId, expiresAt: shownInstant(expiresAt), personId, email, name, hasPassword: password !== null, needsTouch };
}

/**
 * The active session with the hash of a token; undefined if there is none, or a seal is invalid. It is read for every request, so every
 * server rejects an ended session at once.
 */
export async function findSession(pool: Pool, tokenSha256: Buffer): Promise<LiveSession | undefined> {
  const clock = clockOf(pool);
  const { rows } = await pool.query<RawRow>({
    name: 'find_session',
    text: `SELECT ${LIVE} ${FROM_LIVE} WHERE s.token_sha256 = $1 AND ${isLive(2)}`,
    values: [tokenSha256, ...clock.expiryBounds()],
  });
  return liveIn({ seals: requireSeals(pool), clock }, rows[0], tokenSha256);
}

const FIND_IN_TENANT = sql<RawRow>(
  'find_session_in_tenant',
  `SELECT ${LIVE}, ${sealedColumns(MEMBERSHIPS, 'm')}, ${sealedColumns(TENANTS, 't')} ${FROM_LIVE}
     LEFT JOIN countersign.memberships AS m ON m.tenant_id = $1 AND m.person_id = p.id
     LEFT JOIN countersign.tenants AS t ON t.id = $1
    WHERE s.token_sha256 = $2 AND ${isLive(3)}`,
);

/**
 * Like `findSession`, with the person's role in the tenant. The role is null for a non-member, or if the seal of the membership is invalid.
 * @throws BrokenSealError for a member if the row of the tenant was changed outside the server, because its name may be wrong.
 */
export async function findSessionInTenant(
  tx: Transaction,
  tokenSha256: Buffer,
): Promise<(LiveSession & { role: Role | null }) | undefined> {
  const [raw] = await tx.run(FIND_IN_TENANT, [tx.tenantId, tokenSha256, ...tx.clock.expiryBounds()]);
  const session = liveIn(tx, raw, tokenSha256);
  if (raw === undefined || session === undefined) return undefined;
  const role = raw[rawName(MEMBERSHIPS, 'role')] === null ? undefined : roleIn(tx, raw, session.personId);
  if (role === undefined) return { ...session, role: null };
  if (tx.seals.openRow(TENANTS, '', raw, { id: tx.tenantId }) === undefined) throw new BrokenSealError('tenants');
  return { ...session, role };
}

/** Records the use of a session, at most once a minute. */
export const touchSession = (pool: Pool, sessionId: string): Promise<unknown> =>
  pool.query({
    name: 'touch_session',
    text: `UPDATE countersign.sessions AS s SET last_used_at = statement_timestamp() WHERE s.id = $1 AND ${NEEDS_TOUCH}`,
    values: [sessionId],
  });

/** A session ready to be stored. */
export interface NewSessionRow {
  id: string;
  tokenSha256: Buffer;
  personId: string;
  lifetimeSeconds: number;
  userAgent: string | null;
}

const INSERT = sql(
  'insert_session',
  `INSERT INTO countersign.sessions (token_sha256, id, person_id, created_at, last_used_at, expires_at, user_agent, seal)
   VALUES ($1, $2, $3, $4, $4, $5, $6, $7)`,
);

/** Creates a session in the transaction that authenticated the person. Returns the time when it expires. */
export async function insertSession(tx: Statements, session: NewSessionRow): Promise<string> {
  const { sealed, values } = sealedSession(tx, session);
  await tx.run(INSERT, values);
  return shownInstant(sealed.expiresAt);
}

/** The row of a session with its times, and the values of its columns. */
function sealedSession(
  { seals, clock }: { seals: Seals; clock: Clock },
  { tokenSha256, id, personId, lifetimeSeconds, userAgent }: NewSessionRow,
): { sealed: SealedSession; values: readonly unknown[] } {
  const now = clock.now();
  const [createdAt, expiresAt] = [sealedInstant(now), sealedInstant(new Date(now.getTime() + lifetimeSeconds * 1000))];
  const sealed = { tokenSha256, id, personId, createdAt, expiresAt };
  return { sealed, values: [tokenSha256, id, personId, createdAt, expiresAt, userAgent, seals.ofRow(SESSIONS, '', sealed)] };
}

/**
 * Creates a session after a sign-in with the password that was set at `passwordChangedAt`; false if the password has been changed since.
 * The row of the person is share-locked, so a change of the password either waits and then ends this session too, or is detected here.
 */
export async function insertSessionByPassword(
  pool: Pool,
  session: NewSessionRow,
  passwordChangedAt: string | null,
): Promise<boolean> {
  const { values } = sealedSession({ seals: requireSeals(pool), clock: clockOf(pool) }, session);
  const { rowCount } = await pool.query({
    name: 'insert_session_by_password',
    text: `WITH person AS (SELECT id FROM countersign.people WHERE id = $3 AND password_changed_at = $8::timestamptz FOR SHARE)
           INSERT INTO countersign.sessions (token_sha256, id, person_id, created_at, last_used_at, expires_at, user_agent, seal)
           SELECT $1, $2, id, $4, $4, $5, $6, $7 FROM person`,
    values: [...values, passwordChangedAt],
  });
  return rowCount === 1;
}

/** A session as shown to its person. It never contains the token or its hash. */
export interface ListedSession {
  id: string;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  userAgent: string | null;
}

/** The maximum number of listed sessions. Each sign-in adds a session, so a person can have very many. */
const LISTED_MAX = 200;

const LIST = sql<RawRow & { lastUsedAt: string; userAgent: string | null }>(
  'list_sessions',
  `SELECT ${sealedColumns(SESSIONS, 's')}, ${instantText('s.last_used_at')} AS "lastUsedAt", s.user_agent AS "userAgent"
     FROM countersign.sessions AS s WHERE s.person_id = $1 AND ${isLive(2)}
    ORDER BY s.created_at DESC, s.id LIMIT ${LISTED_MAX}`,
);

/** The active sessions of the transaction's person, newest first, at most LISTED_MAX. Sessions with an invalid seal are omitted. */
export async function listSessions(tx: PersonTransaction): Promise<ListedSession[]> {
  const rows = await tx.run(LIST, [tx.personId, ...tx.clock.expiryBounds()]);
  return rows.flatMap(({ lastUsedAt, userAgent, ...raw }) => {
    const session = tx.seals.openRow(SESSIONS, '', raw, { personId: tx.personId });
    if (session === undefined) return [];
    const { id, createdAt, expiresAt } = session;
    return [{ id, createdAt: shownInstant(createdAt), lastUsedAt, expiresAt: shownInstant(expiresAt), userAgent }];
  });
}

const DELETE = sql<{ id: string }>(
  'delete_session',
  `DELETE FROM countersign.sessions WHERE person_id = $1 AND id = $2 RETURNING id`,
);

/** Ends a session of the transaction's person; false if the person has no session with this ID. */
export const deleteSession = async (tx: PersonTransaction, sessionId: string): Promise<boolean> =>
  (await tx.run(DELETE, [tx.personId, sessionId])).length === 1;

/** Ends the session with the hash of a token. Does nothing if there is none. */
export async function deleteSessionOfToken(pool: Pool, tokenSha256: Buffer): Promise<void> {
  await pool.query({
    name: 'delete_session_of_token',
    text: 'DELETE FROM countersign.sessions WHERE token_sha256 = $1',
    values: [tokenSha256],
  });
}

const DELETE_ALL = sql('delete_sessions_of_person', `DELETE FROM countersign.sessions WHERE person_id = $1`);

/** Ends all of a person's sessions. */
export const deleteSessionsOf = (tx: Statements, personId: string): Promise<unknown> => tx.run(DELETE_ALL, [personId]);

/** Deletes expired sessions, and those that were created while a clock was ahead. */
export const deleteExpiredSessions = (pool: Pool): Promise<unknown> =>
  pool.query(`DELETE FROM countersign.sessions AS s WHERE ${isExpired('s', 1)}`, [...clockOf(pool).expiryBounds()]);
