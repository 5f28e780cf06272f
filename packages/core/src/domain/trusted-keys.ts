import { toBase64Url } from './attestation.ts';
import type { Sha256 } from './merkle-tree.ts';
import { type NoteKey, parseNoteVerifierKey } from './signed-note.ts';

/**
 * Parses the keys that a reader trusts. The text has one verifier key per line, or is the JWKS of `/.well-known/jwks.json` with its
 * `note_key` members. Undefined if there is no key, or a key is malformed. If a malformed key were ignored, its signatures would seem to be
 * by an unknown key. Keys of a JWKS on curves other than Ed25519 are ignored.
 */
export function trustedKeys(text: string, sha256: Sha256): NoteKey[] | undefined {
  const keys = text.trim().startsWith('{') ? keysOfJwks(text, sha256) : keysOfLines(text, sha256);
  return keys.length > 0 && keys.every((key) => key !== undefined) ? keys : undefined;
}

const keysOfLines = (text: string, sha256: Sha256): (NoteKey | undefined)[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => parseNoteVerifierKey(line, sha256));

function keysOfJwks(text: string, sha256: Sha256): (NoteKey | undefined)[] {
  const keys = memberOf(parseJson(text), 'keys');
  if (!Array.isArray(keys)) return [];
  return keys.filter((jwk) => memberOf(jwk, 'crv') === 'Ed25519').map((jwk) => keyOfJwk(jwk, sha256));
}

/** The `note_key` of a JWK; undefined if it is malformed, or `x` is another public key. */
function keyOfJwk(jwk: unknown, sha256: Sha256): NoteKey | undefined {
  const noteKey = memberOf(jwk, 'note_key');
  const key = typeof noteKey === 'string' ? parseNoteVerifierKey(noteKey, sha256) : undefined;
  return key !== undefined && toBase64Url(key.publicKey) === memberOf(jwk, 'x') ? key : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
