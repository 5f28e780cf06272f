import { newId } from '../storage/new-id.ts';
import type { NewSessionRow } from '../storage/sessions.ts';
import { newToken } from './secret-token.ts';

/** How long a session lives, whatever is done in it: 12 hours. */
export const SESSION_SECONDS = 12 * 60 * 60;

/** Longest name of a browser that is kept, in characters. */
const USER_AGENT_LENGTH_MAX = 300;

/** A session about to begin: its token is for the cookie alone, its row for the database. */
export function newSession(personId: string, userAgent: string | null): { token: string; row: NewSessionRow } {
  const { token, tokenSha256 } = newToken();
  const shown = userAgent?.slice(0, USER_AGENT_LENGTH_MAX).toWellFormed().replaceAll('\u0000', '') ?? null;
  return { token, row: { id: newId(), tokenSha256, personId, seconds: SESSION_SECONDS, userAgent: shown } };
}
