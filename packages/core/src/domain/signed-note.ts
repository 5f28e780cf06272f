import type { Sha256 } from './merkle-tree.ts';

/**
 * C2SP signed notes (https://c2sp.org/signed-note): text, a blank line, signature lines. Only Ed25519 signatures are supported. The caller
 * passes the functions for hashes and signatures. Notes are untrusted.
 */

/** A key that verifies notes. */
export interface NoteKey {
  /** `countersign/<instance ID>`. A name has no white space and no plus sign. */
  name: string;
  /** 32 bytes, RFC 8032. */
  publicKey: Uint8Array;
}

/** A key that signs notes. */
export interface NoteSigner extends NoteKey {
  sign(message: Uint8Array): Uint8Array;
}

/** Whether an Ed25519 signature over a message is valid. */
export type VerifyEd25519 = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

/** The type of Ed25519 signatures in the format. */
const ED25519 = 0x01;
const ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
const SIGNATURES_MAX = 100;

/** The fault of a note or an envelope without a signature by a known key. After a rotation, the known keys may be too old. */
export const UNKNOWN_SIGNER = 'none of the known keys has signed it';

// The format excludes the white space of Unicode. `\s` is different: it includes U+FEFF, and lacks U+0085.
const KEY_NAME = /^[^\p{White_Space}+]+$/u;
const SIGNATURE_LINE = /^\u2014 ([^\p{White_Space}+]+) ([A-Za-z0-9+/]+={0,2})$/u;

/** The four bytes that identify a key: SHA-256(name || 0x0A || type || public key)[:4]. */
export function keyId({ name, publicKey }: NoteKey, sha256: Sha256): Uint8Array {
  const start = new TextEncoder().encode(`${name}\n`);
  const bytes = new Uint8Array(start.length + 1 + publicKey.length);
  bytes.set(start);
  bytes[start.length] = ED25519;
  bytes.set(publicKey, start.length + 1);
  return sha256(bytes).slice(0, ID_BYTES);
}

/**
 * Returns the note of a text, signed by each signer.
 * @throws RangeError if the text does not end in a newline or has other control characters, or a signer's name is not valid
 */
export function signNote(text: string, signers: readonly NoteSigner[], sha256: Sha256): string {
  if (!text.endsWith('\n') || hasControls(text))
    throw new RangeError('a note must end in a newline and contain no other control characters');
  return `${text}\n${signers.map((signer) => signatureLine(text, signer, sha256)).join('')}`;
}

function signatureLine(text: string, signer: NoteSigner, sha256: Sha256): string {
  if (!KEY_NAME.test(signer.name)) throw new RangeError(`${JSON.stringify(signer.name)} is not a valid key name`);
  const signature = signer.sign(new TextEncoder().encode(text));
  return `\u2014 ${signer.name} ${toBase64(concat(keyId(signer, sha256), signature))}\n`;
}

/**
 * Returns the note with a valid signature of each signer. The signatures of other keys stay, and are not verified. Lines that are not
 * signatures are dropped. The text is signed unchanged, so the caller must verify it first.
 */
export function addSignatures(note: string, signers: readonly NoteSigner[], sha256: Sha256): string {
  const text = noteText(note);
  const lines = note.slice(text.length + 1).split('\n');
  const newSignatures = signers.map((signer) => ({ signer, line: signatureLine(text, signer, sha256) }));
  const keptLines = lines
    .filter((line) => SIGNATURE_LINE.test(line))
    .map((line) => newSignatures.find(({ signer }) => isSignatureOf(line, signer, sha256))?.line ?? `${line}\n`);
  return `${text}\n${[...new Set([...keptLines, ...newSignatures.map(({ line }) => line)])].join('')}`;
}

/** The signed text of a note; empty if the note has no blank line. */
export const noteText = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1);

function isSignatureOf(line: string, key: NoteKey, sha256: Sha256): boolean {
  const [, name, encoded] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  return name === key.name && bytes !== undefined && sameBytes(keyId(key, sha256), bytes.subarray(0, ID_BYTES));
}

/**
 * Returns the text of a note and the key of its first signature by one of `keys`, or the fault. An invalid signature by any of `keys` is a
 * fault.
 */
export function openNote(
  note: string,
  keys: readonly NoteKey[],
  verify: VerifyEd25519,
  sha256: Sha256,
): { text: string; key: NoteKey } | { fault: string } {
  const split = note.lastIndexOf('\n\n');
  if (split < 0 || !note.endsWith('\n') || hasControls(note) || !note.isWellFormed())
    return { fault: 'it does not have the form of a signed note' };
  const text = note.slice(0, split + 1);
  const lines = note.slice(split + 2, -1).split('\n');
  if (lines.length > SIGNATURES_MAX) return { fault: 'it has too many signatures' };
  const message = new TextEncoder().encode(text);
  let signer: NoteKey | undefined;
  for (const line of lines) {
    const [, name, encoded] = SIGNATURE_LINE.exec(line) ?? [];
    const bytes = encoded === undefined ? undefined : fromBase64(encoded);
    if (name === undefined || bytes === undefined || bytes.length <= ID_BYTES) return { fault: 'a signature line is malformed' };
    const key = keys.find((known) => known.name === name && sameBytes(keyId(known, sha256), bytes.subarray(0, ID_BYTES)));
    if (key === undefined) continue; // signatures of unknown keys are ignored
    const signature = bytes.subarray(ID_BYTES);
    if (signature.length !== SIGNATURE_BYTES || !verify(key.publicKey, message, signature))
      return { fault: `the signature of ${name} is wrong` };
    signer ??= key;
  }
  return signer === undefined ? { fault: UNKNOWN_SIGNER } : { text, key: signer };
}

/** The verifier key (vkey): `<name>+<key ID, hex>+<base64 of type and public key>`. */
export function noteVerifierKey(key: NoteKey, sha256: Sha256): string {
  const id = [...keyId(key, sha256)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${key.name}+${id}+${toBase64(concat(new Uint8Array([ED25519]), key.publicKey))}`;
}

/** Parses an Ed25519 verifier key. Undefined if it is malformed or of another type, or its ID does not match its key. */
export function parseNoteVerifierKey(text: string, sha256: Sha256): NoteKey | undefined {
  const [, name, , encoded] = /^([^\p{White_Space}+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text.trim()) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (name === undefined || bytes?.length !== 33 || bytes[0] !== ED25519) return undefined;
  const key = { name, publicKey: bytes.slice(1) };
  return noteVerifierKey(key, sha256) === text.trim() ? key : undefined;
}

const hasControls = (text: string): boolean => /[\u0000-\u0009\u000b-\u001f]/.test(text);

/** Standard base64 with padding (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Decodes standard base64; undefined unless toBase64 would write the same text. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return toBase64(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Whether two arrays have equal bytes. Use it only for public values, because it stops at the first difference. */
export const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index]);

function concat(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(left.length + right.length);
  bytes.set(left);
  bytes.set(right, left.length);
  return bytes;
}
