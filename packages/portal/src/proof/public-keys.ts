import { fetchFromServer } from '../api/call.ts';
import { readProblem } from '../api/problem.ts';
import type { PublicKeys } from './check-decision.ts';

/**
 * Fetches the published keys of the instance, `/.well-known/jwks.json`. Third parties use the same document. Throws a Problem if the server
 * does not respond or responds with an error. Always asks the server, because a response in the browser's cache can lack a new key for five
 * minutes.
 */
export async function fetchPublicKeys(signal?: AbortSignal): Promise<PublicKeys> {
  const response = await fetchFromServer('/.well-known/jwks.json', { cache: 'no-cache', signal: signal ?? null });
  if (!response.ok) throw await readProblem(response);
  const { keys } = (await response.json()) as { keys: { kid: string; x: string; retired_at?: string }[] };
  const attestation = keys.map(({ kid, x, retired_at }) => ({ keyid: kid, publicKey: fromBase64Url(x), retiredAt: retired_at }));
  return { attestation };
}

const fromBase64Url = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
