import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { type PersonTransaction, type Statements, sql, type Transaction } from '../database/transaction.ts';
import { expiryClock } from './expiry-clock.ts';
import { instantText } from './instant-text.ts';

/** A session that lives, with whose it is. */
export interface LiveSession {
  sessionId: string;
  expiresAt: string;
  personId: string;
  email: string;
  name: string;
  hasPassword: boolean;
  /** Whether its last use was noted more than a minute ago. */
  isUnnoted: boolean;
}

const LIVE = `s.id AS "sessionId", ${instantText('s.expires_at')} AS "expiresAt", p.id AS "personId", p.email, p.name,
  p.password IS NOT NULL AS "hasPassword", s.last_used_at < clock_timestamp() - interval '1 minute' AS "isUnnoted"`;
const FROM_LIVE = `FROM countersign.sessions AS s JOIN countersign.people AS p ON p.id = s.person_id`;
/** Bounds are the parameters from `first` on (expiry-clock.ts). */
const isLive = (first: number): string => `s.expires_at > ${expiryClock(first)}`;

/** The session of a token's hash. Read anew for every request: an ended one is dead with the next request on every server. */
export async function findSession(pool: Pool, tokenSha256: Buffer): Promise<LiveSession | undefined> {
  const { rows } = await pool.query<LiveSession>({
    name: 'find_session',
    text: `SELECT ${LIVE} ${FROM_LIVE} WHERE s.token_sha256 = $1 AND ${isLive(2)}`,
    values: [tokenSha256, ...clockOf(pool).expiryBounds()],
  });
  return rows[0];
}

const FIND_IN_TENANT = sql<LiveSession & { role: Role | null }>(
  'find_session_in_tenant',
  `SELECT ${LIVE}, m.role ${FROM_LIVE}
     LEFT JOIN countersign.memberships AS m ON m.tenant_id = $1 AND m.person_id = p.id
    WHERE s.token_sha256 = $2 AND ${isLive(3)}`,
);

/** The same with the person's role in the tenant; null for somebody who is no member. */
export const findSessionInTenant = async (
  tx: Transaction,
  tokenSha256: Buffer,
): Promise<(LiveSession & { role: Role | null }) | undefined> =>
  (await tx.run(FIND_IN_TENANT, [tx.tenantId, tokenSha256, ...tx.clock.expiryBounds()]))[0];

/** Notes that a session was used; once, where several requests came at the same moment. */
export const touchSession = (pool: Pool, sessionId: string): Promise<unknown> =>
  pool.query({
    name: 'touch_session',
    text: `UPDATE countersign.sessions SET last_used_at = clock_timestamp()
            WHERE id = $1 AND last_used_at < clock_timestamp() - interval '1 minute'`,
    values: [sessionId],
  });

/** A session ready to be stored. */
export interface NewSessionRow {
  id: string;
  tokenSha256: Buffer;
  personId: string;
  /** How long it lives, in seconds. */
  seconds: number;
  userAgent: string | null;
}

const INSERT = sql<{ expiresAt: string }>(
  'insert_session',
  `INSERT INTO countersign.sessions (token_sha256, id, person_id, expires_at, user_agent)
   VALUES ($1, $2, $3, ${expiryClock(6)} + make_interval(secs => $4), $5) RETURNING ${instantText('expires_at')} AS "expiresAt"`,
);

/** Begins a session in the transaction that made sure of the person. Returns when it ends. */
export const insertSession = async (tx: Statements, session: NewSessionRow): Promise<string> =>
  (await tx.run(INSERT, [...valuesOf(session), ...tx.clock.expiryBounds()]))[0]!.expiresAt;

const valuesOf = ({ tokenSha256, id, personId, seconds, userAgent }: NewSessionRow): readonly unknown[] => [
  tokenSha256,
  id,
  personId,
  seconds,
  userAgent,
];

/**
 * Begins a session for whoever has just shown the password that was set at this moment; false when it was changed since. The row of the
 * person is share-locked: a change of the password either waits and then ends this session too, or is seen.
 */
export async function insertSessionByPassword(
  pool: Pool,
  session: NewSessionRow,
  passwordChangedAt: string | null,
): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'insert_session_by_password',
    text: `WITH person AS (SELECT id FROM countersign.people WHERE id = $3 AND password_changed_at = $6::timestamptz FOR SHARE)
           INSERT INTO countersign.sessions (token_sha256, id, person_id, expires_at, user_agent)
           SELECT $1, $2, id, ${expiryClock(7)} + make_interval(secs => $4), $5 FROM person`,
    values: [...valuesOf(session), passwordChangedAt, ...clockOf(pool).expiryBounds()],
  });
  return rowCount === 1;
}

/** A session as its person sees it. Never its token, nor the hash of it. */
export interface ListedSession {
  id: string;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  userAgent: string | null;
}

const LIST = sql<ListedSession>(
  'list_sessions',
  `SELECT s.id, ${instantText('s.created_at')} AS "createdAt", ${instantText('s.last_used_at')} AS "lastUsedAt",
          ${instantText('s.expires_at')} AS "expiresAt", s.user_agent AS "userAgent"
     FROM countersign.sessions AS s WHERE s.person_id = $1 AND ${isLive(2)} ORDER BY s.created_at DESC, s.id`,
);

/** The person's sessions that live, newest first. */
export const listSessions = (tx: PersonTransaction): Promise<ListedSession[]> =>
  tx.run(LIST, [tx.personId, ...tx.clock.expiryBounds()]);

const DELETE = sql<{ id: string }>(
  'delete_session',
  `DELETE FROM countersign.sessions WHERE person_id = $1 AND id = $2 RETURNING id`,
);

/** Ends one of the person's sessions; false when they have none of this id. */
export const deleteSession = async (tx: PersonTransaction, sessionId: string): Promise<boolean> =>
  (await tx.run(DELETE, [tx.personId, sessionId])).length === 1;

/** Ends the session of a token, whosever it is; nothing happens when there is none. */
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

/** Forgets sessions that have ended by themselves. They were dead already. */
export const deleteExpiredSessions = (pool: Pool): Promise<unknown> =>
  pool.query(`DELETE FROM countersign.sessions WHERE expires_at <= ${expiryClock(1)}`, [...clockOf(pool).expiryBounds()]);
