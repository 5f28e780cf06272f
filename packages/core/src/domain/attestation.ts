import { canonicalJson } from './canonical-json.ts';
import type { Sha256 } from './merkle-tree.ts';
import { toBase64 } from './signed-note.ts';

// A decision as an attestation for third parties: an in-toto Statement v1 in a DSSE envelope, signed with Ed25519.
// https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://github.com/secure-systems-lab/dsse/blob/master/protocol.md

/** The types of the payload, of the statement in it, and of the predicate in the statement. */
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

/** A key that signs attestations; its ID is the thumbprint of its JWK. */
export interface AttestationSigner {
  keyid: string;
  sign(message: Uint8Array): Uint8Array;
}

/** A key that verifies attestations. */
export interface AttestationKey {
  /** The thumbprint of its JWK. */
  keyid: string;
  /** 32 bytes, RFC 8032. */
  publicKey: Uint8Array;
  /** `retired_at` of its JWK; absent or null while the key is live. The key does not verify decisions made after that time. */
  retiredAt?: unknown;
}

/** The members of a decision that form the subject of the statement. The predicate of the statement is the whole decision. */
interface AttestableDecision {
  decision_id: string;
  response_sha256: string;
}

/** Returns the bytes to sign: DSSE's pre-authentication encoding, which binds the payload to its type. */
export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = new TextEncoder().encode(payloadType);
  const head = new TextEncoder().encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}

/** Returns the envelope of a decision, signed by each signer. Pass the decision as it was returned, and the signers of all live keys. */
export function attestDecision<D extends AttestableDecision>(decision: D, signers: readonly AttestationSigner[]): Envelope {
  const payload = payloadOf(decision);
  const message = preAuthenticationEncoding(PAYLOAD_TYPE, payload);
  return {
    payload: toBase64(payload),
    payloadType: PAYLOAD_TYPE,
    signatures: signers.map(({ keyid, sign }) => ({ keyid, sig: toBase64(sign(message)) })),
  };
}

/** Returns the statement about a decision, as canonical JSON in UTF-8. */
export function payloadOf(decision: AttestableDecision): Uint8Array {
  const statement = {
    _type: STATEMENT_TYPE,
    subject: [{ name: `decision:${decision.decision_id}`, digest: { sha256: decision.response_sha256 } }],
    predicateType: PREDICATE_TYPE,
    predicate: decision,
  };
  return new TextEncoder().encode(canonicalJson(statement));
}

/** The preference (`Prefer`, RFC 7240) that requests the attestation of a promotion check. */
export const ATTESTATION_PREFERENCE = 'countersign-attestation';

/** The signatures of an attestation as a header: a list of key IDs with their signatures (RFC 9651). It does not contain the payload. */
export const attestationHeader = ({ signatures }: Pick<Envelope, 'signatures'>): string =>
  signatures.map(({ keyid, sig }) => `"${keyid}";sig=:${sig}:`).join(', ');

/** Makes the envelope from a decision and its attestation header. Undefined if the header is malformed. Verifies no signature. */
export function envelopeOfHeader(decision: AttestableDecision, header: string): Envelope | undefined {
  const signatures = header.split(',').map((member) => {
    const [, keyid, sig] = /^\s*"([A-Za-z0-9_-]{1,64})";sig=:([A-Za-z0-9+/]{1,128}={0,2}):\s*$/.exec(member) ?? [];
    return keyid === undefined || sig === undefined ? undefined : { keyid, sig };
  });
  const parsed = signatures.filter((signature) => signature !== undefined);
  if (parsed.length !== signatures.length) return undefined;
  return { payload: toBase64(payloadOf(decision)), payloadType: PAYLOAD_TYPE, signatures: parsed };
}

/** A public key as a JWK (RFC 8037), with its thumbprint as its ID (RFC 7638). */
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

/** Base64url without padding (RFC 4648, section 5), the encoding of JSON Web Keys. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
