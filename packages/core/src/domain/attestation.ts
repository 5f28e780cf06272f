import { canonicalJson } from './canonical-json.ts';
import { type DecisionMembers, decisionFormFault } from './decision-form.ts';
import { decoded, parseLine } from './export-line.ts';
import type { Sha256 } from './merkle-tree.ts';
import { fromBase64, sameBytes, toBase64, type VerifyEd25519 } from './signed-note.ts';

/**
 * A decision as an attestation that a third party can check: an in-toto Statement v1 in a DSSE envelope, signed with Ed25519.
 * https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
 */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
export const PREDICATE_TYPE = 'urn:countersign:promotion-decision:v1';

/** A DSSE envelope. */
export interface Envelope {
  /** Standard base64 of the statement's canonical JSON. */
  payload: string;
  payloadType: string;
  signatures: { keyid: string; sig: string }[];
}

/** A key that signs attestations; its id is the thumbprint of its JWK. */
export interface AttestationSigner {
  keyid: string;
  sign(message: Uint8Array): Uint8Array;
}

/** A key that checks attestations: 32 bytes, RFC 8032. */
export interface AttestationKey {
  keyid: string;
  publicKey: Uint8Array;
}

/** What an attestation is about: the decision as it was answered. */
interface Attested {
  decision_id: string;
  response_sha256: string;
}

/** The bytes that are signed: DSSE's pre-authentication encoding, which keeps a payload from being read as another type. */
export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = new TextEncoder().encode(payloadType);
  const head = new TextEncoder().encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}

/** Attests a decision as it was answered, by every live key. */
export function attestDecision<D extends Attested>(decision: D, signers: readonly AttestationSigner[]): Envelope {
  const payload = payloadOf(decision);
  const message = preAuthenticationEncoding(PAYLOAD_TYPE, payload);
  return {
    payload: toBase64(payload),
    payloadType: PAYLOAD_TYPE,
    signatures: signers.map(({ keyid, sign }) => ({ keyid, sig: toBase64(sign(message)) })),
  };
}

function payloadOf(decision: Attested): Uint8Array {
  const statement = {
    _type: STATEMENT_TYPE,
    subject: [{ name: `decision:${decision.decision_id}`, digest: { sha256: decision.response_sha256 } }],
    predicateType: PREDICATE_TYPE,
    predicate: decision,
  };
  return new TextEncoder().encode(canonicalJson(statement));
}

/** What a promotion check asks for by `Prefer` (RFC 7240) to get the signatures of its attestation in a header. */
export const ATTESTATION_PREFERENCE = 'countersign-attestation';

/** The signatures of an attestation as a header says them, a list of strings (RFC 9651). The payload is made from the answer itself. */
export const attestationHeader = ({ signatures }: Pick<Envelope, 'signatures'>): string =>
  signatures.map(({ keyid, sig }) => `"${keyid}";sig=:${sig}:`).join(', ');

/** The envelope of a decision and the header that came with it; undefined when the header has not its form. Nothing is checked yet. */
export function envelopeOfHeader(decision: Attested, header: string): Envelope | undefined {
  const signatures = header.split(',').map((member) => {
    const [, keyid, sig] = /^\s*"([A-Za-z0-9_-]{1,64})";sig=:([A-Za-z0-9+/]{1,128}={0,2}):\s*$/.exec(member) ?? [];
    return keyid === undefined || sig === undefined ? undefined : { keyid, sig };
  });
  const whole = signatures.filter((signature) => signature !== undefined);
  if (whole.length !== signatures.length) return undefined;
  return { payload: toBase64(payloadOf(decision)), payloadType: PAYLOAD_TYPE, signatures: whole };
}

/** Most signatures that an envelope may have. */
const SIGNATURES_MAX = 100;

/** The text of an envelope, read so that it says one thing only: no member twice, nothing that JSON.parse loses. */
export function readEnvelope(text: string): { envelope: unknown } | { fault: string } {
  const read = parseLine(text, 'the envelope');
  return 'fault' in read ? read : { envelope: read.row };
}

/**
 * The decision that an envelope attests, if one of the keys has signed it and it is a statement about that decision; or why not.
 * Input is taken as hostile. A text is read by readEnvelope first.
 */
export function openAttestation(
  envelope: unknown,
  keys: readonly AttestationKey[],
  verify: VerifyEd25519,
  digestOf: (decision: Record<string, unknown>) => string,
): { decision: Record<string, unknown>; keyid: string } | { fault: string } {
  const { payload: encoded, payloadType, signatures } = isObject(envelope) ? envelope : {};
  const payload = typeof encoded === 'string' ? fromBase64(encoded) : undefined;
  const signed = signaturesOf(signatures);
  if (payload === undefined || payloadType !== PAYLOAD_TYPE || signed === undefined)
    return { fault: 'it is no DSSE envelope of an in-toto statement' };
  const message = preAuthenticationEncoding(PAYLOAD_TYPE, payload);
  const signer = signerOf(message, signed, keys, verify);
  if (signer === undefined) return { fault: 'none of the known keys has signed it' };
  const statement = statementIn(payload);
  if ('fault' in statement) return statement;
  const { predicate } = statement;
  const wrong = decisionFormFault(predicate);
  if (wrong !== undefined) return { fault: `the decision in it: ${wrong}` };
  if (predicate.response_sha256 !== digestOf(predicate))
    return { fault: 'the statement is about another decision than the one it carries' };
  if (!sameBytes(payloadOf(predicate as DecisionMembers), payload))
    return { fault: 'the statement is not in canonical form, or is about another decision than the one it carries' };
  return { decision: predicate, keyid: signer.keyid };
}

interface ReadSignature {
  keyid: string | undefined;
  sig: Uint8Array;
}

/** The signatures, if each of them has its form: one that has not could be read in another way elsewhere. */
function signaturesOf(given: unknown): ReadSignature[] | undefined {
  if (!Array.isArray(given) || given.length === 0 || given.length > SIGNATURES_MAX) return undefined;
  const read = given.map((signature): ReadSignature | undefined => {
    const { keyid, sig: encoded } = isObject(signature) ? signature : {};
    const sig = typeof encoded === 'string' ? fromBase64(encoded) : undefined;
    return sig === undefined || !(keyid === undefined || typeof keyid === 'string') ? undefined : { keyid, sig };
  });
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** The key that has signed. `keyid` is a hint: the key that it names is tried first, then the others. */
function signerOf(
  message: Uint8Array,
  signatures: readonly ReadSignature[],
  keys: readonly AttestationKey[],
  verify: VerifyEd25519,
): AttestationKey | undefined {
  for (const { keyid, sig } of signatures) {
    const tried = [...keys].sort((one, other) => Number(other.keyid === keyid) - Number(one.keyid === keyid));
    const signer = sig.length === 64 ? tried.find(({ publicKey }) => verify(publicKey, message, sig)) : undefined;
    if (signer !== undefined) return signer;
  }
  return undefined;
}

/** The decision in a statement's payload, which must be exactly what this service writes; nothing is checked of the decision yet. */
function statementIn(payload: Uint8Array): { predicate: Record<string, unknown> } | { fault: string } {
  const text = decoded(payload);
  const read = text === undefined ? undefined : parseLine(text, 'the payload');
  if (read === undefined) return { fault: 'the payload is not UTF-8' };
  if ('fault' in read) return read;
  const statement = isObject(read.row) ? read.row : {};
  const { _type: type, predicateType, predicate } = statement;
  if (type !== STATEMENT_TYPE || predicateType !== PREDICATE_TYPE || !isObject(predicate))
    return { fault: 'the payload is no statement about a promotion decision' };
  return { predicate };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A public key as a JWK (RFC 8037), with its thumbprint as its id (RFC 7638). */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  use: 'sig';
  alg: 'EdDSA';
}

/** The JWK of a public key. */
export function publicJwk(publicKey: Uint8Array, sha256: Sha256): PublicJwk {
  const x = toBase64Url(publicKey);
  const thumbprint = sha256(new TextEncoder().encode(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
  return { kty: 'OKP', crv: 'Ed25519', x, kid: toBase64Url(thumbprint), use: 'sig', alg: 'EdDSA' };
}

/** Base64url without padding (RFC 4648, section 5), as JSON Web Keys have it. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
