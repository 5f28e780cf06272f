import { publicJwk, toBase64Url } from './attestation.ts';
import { parseLine } from './export-line.ts';
import { isInstant } from './member-forms.ts';
import type { Sha256 } from './merkle-tree.ts';
import { type NoteKey, parseNoteVerifierKey } from './signed-note.ts';

/**
 * Parses the keys that a reader trusts. The text has one verifier key per line, or is the JWKS of `/.well-known/jwks.json` with its
 * `note_key` members. Undefined if there is no key, or a key is malformed. If a malformed key were ignored, its signatures would seem to be
 * by an unknown key. Keys of a JWKS that are not Ed25519 keys are ignored.
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
  const parsed = parseLine(text);
  const keys = 'value' in parsed ? memberOf(parsed.value, 'keys') : undefined;
  if (!Array.isArray(keys) || !keys.every(isObject)) return [];
  const isEd25519 = (jwk: unknown) => memberOf(jwk, 'kty') === 'OKP' && memberOf(jwk, 'crv') === 'Ed25519';
  return keys.filter(isEd25519).map((jwk) => keyOfJwk(jwk, sha256));
}

/** The `note_key` of a JWK; undefined if it is malformed, `x` or `kid` belongs to another public key, or `retired_at` is not an instant. */
function keyOfJwk(jwk: unknown, sha256: Sha256): NoteKey | undefined {
  const [noteKey, kid, retiredAt] = ['note_key', 'kid', 'retired_at'].map((name) => memberOf(jwk, name));
  const key = typeof noteKey === 'string' ? parseNoteVerifierKey(noteKey, sha256) : undefined;
  if (key === undefined || toBase64Url(key.publicKey) !== memberOf(jwk, 'x')) return undefined;
  if (kid !== undefined && kid !== publicJwk(key.publicKey, sha256).kid) return undefined;
  return retiredAt === undefined || isInstant(retiredAt) ? key : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
