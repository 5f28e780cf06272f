import { publicJwk, toBase64Url } from './attestation.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Sha256 } from './merkle-tree.ts';
import { fromBase64, type NoteKey, parseNoteVerifierKey, type VerifyEd25519 } from './signed-note.ts';

/**
 * A signing key signs the instance's ID, its own ID and its successor's ID (docs/formats.md, "Succession of signing keys"). A reader
 * who trusts the older key can verify the newer key by this signature, whatever source the newer key comes from.
 */

/** The cryptography for the checks. */
export interface SuccessionChecks {
  sha256: Sha256;
  verify: VerifyEd25519;
}

/** A key from a JWKS. */
export interface ListedKey {
  noteKey: NoteKey;
  /** The 32 bytes of the public key, in base64url. */
  x: string;
  /** The thumbprint of the key (RFC 7638). */
  kid: string;
  /** When the key was retired; undefined while it is live. */
  retiredAt: string | undefined;
  /** `kid` of the predecessor; undefined if there is none. */
  predecessor: string | undefined;
  /** The signature by the predecessor, in base64. */
  predecessorSignature: string | undefined;
  /** `kid` of the lost key that an operator replaced with this key; undefined if there is none. */
  resetFrom: string | undefined;
}

/** The prefix of every text that is signed here, so that a signed checkpoint or attestation is never mistaken for such a text. */
const DOMAIN = 'countersign/signing-key-successor/v1\n';

const NAME_PREFIX = 'countersign/';

/** The bytes that the predecessor signs. `predecessor` and `successor` are the thumbprints of the keys. */
export const successionMessage = (instanceId: string, predecessor: string, successor: string): Uint8Array =>
  new TextEncoder().encode(DOMAIN + canonicalJson({ instance_id: instanceId, predecessor, successor }));

/** Reads an Ed25519 key of a JWKS. Undefined for another type, an invalid `note_key`, or an `x` that belongs to another public key. */
export function readListedKey(jwk: unknown, sha256: Sha256): ListedKey | undefined {
  const members = (jwk ?? {}) as Record<string, unknown>;
  if (members.kty !== 'OKP' || members.crv !== 'Ed25519') return undefined;
  const noteKey = typeof members.note_key === 'string' ? parseNoteVerifierKey(members.note_key, sha256) : undefined;
  if (noteKey === undefined || toBase64Url(noteKey.publicKey) !== members.x) return undefined;
  return {
    noteKey,
    x: members.x,
    kid: publicJwk(noteKey.publicKey, sha256).kid,
    retiredAt: members.retired_at === undefined ? undefined : String(members.retired_at),
    predecessor: textOf(members.predecessor),
    predecessorSignature: textOf(members.predecessor_signature),
    resetFrom: textOf(members.reset_from),
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Returns why a key is not the successor of `predecessor`; undefined if `predecessor` has signed it. */
export function successionFault(key: ListedKey, predecessor: NoteKey, { sha256, verify }: SuccessionChecks): string | undefined {
  const signer = publicJwk(predecessor.publicKey, sha256).kid;
  if (key.predecessor !== signer) return `the key ${key.kid} does not name ${signer} as its predecessor`;
  if (key.noteKey.name !== predecessor.name)
    return `the key ${key.kid} and its predecessor ${signer} belong to different instances, ${key.noteKey.name} and ${predecessor.name}`;
  const signature = fromBase64(key.predecessorSignature ?? '');
  if (signature?.length !== 64) return `the key ${key.kid} has no signature by its predecessor ${signer}`;
  const message = successionMessage(predecessor.name.slice(NAME_PREFIX.length), signer, key.kid);
  if (verify(predecessor.publicKey, message, signature)) return undefined;
  return `the signature over the key ${key.kid} is not by its predecessor ${signer}`;
}

/** Returns the fault of the first key that is listed twice, or not signed by its predecessor in the list; undefined if there is none. */
export function listedSuccessionFault(jwks: readonly unknown[], checks: SuccessionChecks): string | undefined {
  const keys = jwks.flatMap((jwk) => readListedKey(jwk, checks.sha256) ?? []);
  const repeated = keys.find(({ kid }, index) => keys.findIndex((key) => key.kid === kid) !== index);
  if (repeated !== undefined) return `the key ${repeated.kid} is listed twice`;
  for (const key of keys) {
    const predecessor = keys.find(({ kid }) => kid === key.predecessor);
    const fault = predecessor === undefined ? undefined : successionFault(key, predecessor.noteKey, checks);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The proven and the unproven keys of a list. Keys that the reader already trusts are left out. */
export interface SuccessionResult {
  /** Keys that a chain of signatures from a trusted key proves, each after its predecessor. */
  proven: ListedKey[];
  /** The remaining keys, each with the reason why it is not proven. */
  unproven: { key: ListedKey; fault: string }[];
}

/**
 * Finds the keys of a list that a chain of signatures proves. If a key is listed several times, each element is checked by itself.
 * @param trustedKeys the keys that the reader trusts.
 * @param jwks JWKs, untrusted. Elements that readListedKey cannot read are ignored.
 */
export function followSuccessors(
  trustedKeys: readonly NoteKey[],
  jwks: readonly unknown[],
  checks: SuccessionChecks,
): SuccessionResult {
  const accepted = new Map(trustedKeys.map((key) => [publicJwk(key.publicKey, checks.sha256).kid, key]));
  const listedKeys = jwks.flatMap((jwk) => readListedKey(jwk, checks.sha256) ?? []);
  const remaining = new Set(listedKeys.filter(({ kid }) => !accepted.has(kid)));
  const proven: ListedKey[] = [];
  const unproven: SuccessionResult['unproven'] = [];
  for (let next = nextOf(remaining, accepted); next !== undefined; next = nextOf(remaining, accepted)) {
    remaining.delete(next);
    const fault = successionFault(next, accepted.get(next.predecessor!)!, checks);
    if (fault !== undefined) unproven.push({ key: next, fault });
    else if (!accepted.has(next.kid)) {
      proven.push(next);
      accepted.set(next.kid, next.noteKey);
    }
  }
  for (const key of remaining) unproven.push({ key, fault: unprovenReason(key) });
  return { proven, unproven };
}

const nextOf = (remaining: ReadonlySet<ListedKey>, accepted: ReadonlyMap<string, NoteKey>): ListedKey | undefined =>
  [...remaining].find(({ predecessor }) => predecessor !== undefined && accepted.has(predecessor));

const unprovenReason = ({ kid, predecessor, resetFrom }: ListedKey): string => {
  if (resetFrom !== undefined)
    return `an operator replaced the lost key ${resetFrom} with the key ${kid}, so no earlier key has signed it`;
  if (predecessor === undefined) return `the key ${kid} names no predecessor`;
  return `the predecessor ${predecessor} of the key ${kid} is not proven`;
};
