import { newId } from '../storage/new-id.ts';
import type { NewSessionRow } from '../storage/sessions.ts';
import { newToken } from './secret-token.ts';

/** The lifetime of a session, with or without activity: 12 hours. */
export const SESSION_SECONDS = 12 * 60 * 60;

/** The largest stored part of a User-Agent header, in UTF-16 units. */
const USER_AGENT_LENGTH_MAX = 300;

/** A new session: its token for the cookie, its row for the database. */
export function newSession(personId: string, userAgent: string | null): { token: string; row: NewSessionRow } {
  const { token, tokenSha256 } = newToken();
  const browser = userAgent?.slice(0, USER_AGENT_LENGTH_MAX).toWellFormed().replaceAll('\u0000', '') ?? null;
  return { token, row: { id: newId(), tokenSha256, personId, lifetimeSeconds: SESSION_SECONDS, userAgent: browser } };
}
