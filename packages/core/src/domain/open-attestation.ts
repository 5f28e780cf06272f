import {
  type AttestationKey,
  PAYLOAD_TYPE,
  PREDICATE_TYPE,
  payloadOf,
  preAuthenticationEncoding,
  STATEMENT_TYPE,
} from './attestation.ts';
import { type DecisionMembers, decisionFormFault } from './decision-form.ts';
import { decodeUtf8, parseLine } from './export-line.ts';
import { isInstant } from './member-forms.ts';
import { fromBase64, sameBytes, UNKNOWN_SIGNER, type VerifyEd25519 } from './signed-note.ts';

/** The maximum number of signatures in an envelope. */
const SIGNATURES_MAX = 100;

/**
 * Parses the text of an envelope. Repeated members, and numbers that are not exact, are faults: JSON.parse would drop a member or change
 * the number without an error.
 */
export function readEnvelope(text: string): { envelope: unknown } | { fault: string } {
  const parsed = parseLine(text, 'the envelope');
  return 'fault' in parsed ? parsed : { envelope: parsed.value };
}

/**
 * Returns the decision in an envelope and the ID of a key that signed the envelope, or the fault. At least one of the keys must have signed
 * the envelope, and must not have been retired before the decision. The subject of the statement must be the decision that it contains. The
 * envelope is untrusted.
 * @param envelope the result of readEnvelope, if the envelope is a text.
 * @param digestOf computes the digest of a decision.
 */
export function openAttestation(
  envelope: unknown,
  keys: readonly AttestationKey[],
  verify: VerifyEd25519,
  digestOf: (decision: Record<string, unknown>) => string,
): { decision: Record<string, unknown>; keyid: string } | { fault: string } {
  const { payload: encoded, payloadType, signatures } = isObject(envelope) ? envelope : {};
  const payload = typeof encoded === 'string' ? fromBase64(encoded) : undefined;
  const dsseSignatures = signaturesOf(signatures);
  if (payload === undefined || payloadType !== PAYLOAD_TYPE || dsseSignatures === undefined)
    return { fault: 'it is not a DSSE envelope of an in-toto statement' };
  const message = preAuthenticationEncoding(PAYLOAD_TYPE, payload);
  const signers = keys.filter((key) => hasSigned(key, message, dsseSignatures, verify));
  if (signers.length === 0) return { fault: UNKNOWN_SIGNER };
  const statement = statementIn(payload);
  if ('fault' in statement) return statement;
  const { predicate } = statement;
  const formFault = decisionFormFault(predicate);
  if (formFault !== undefined) return { fault: `the decision in the envelope: ${formFault}` };
  if (predicate.response_sha256 !== digestOf(predicate))
    return { fault: 'response_sha256 in the statement is not the digest of its decision: the decision was altered' };
  if (!sameBytes(payloadOf(predicate as DecisionMembers), payload))
    return { fault: 'the statement is not in canonical form, or is about another decision than the one it contains' };
  const signer = signers.find((key) => isLiveAt(String(predicate.timestamp), key));
  if (signer === undefined) return { fault: 'the key that signed it was retired before the decision' };
  return { decision: predicate, keyid: signer.keyid };
}

/**
 * Whether a key is live, or was retired at `timestamp` or later. A key whose `retired_at` is not an instant counts as retired before
 * `timestamp`. Instants are compared as text, because their form allows days that do not exist.
 */
const isLiveAt = (timestamp: string, { retiredAt }: AttestationKey): boolean =>
  retiredAt === undefined || retiredAt === null || (isInstant(retiredAt) && retiredAt >= timestamp);

interface DsseSignature {
  sig: Uint8Array;
}

/** The signatures; undefined if there are none or too many, or if one is malformed. Other readers could accept a malformed signature. */
function signaturesOf(value: unknown): DsseSignature[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > SIGNATURES_MAX) return undefined;
  const parsed = value.map((signature): DsseSignature | undefined => {
    const { keyid, sig: encoded } = isObject(signature) ? signature : {};
    const sig = typeof encoded === 'string' ? fromBase64(encoded) : undefined;
    return sig === undefined || !(keyid === undefined || typeof keyid === 'string') ? undefined : { sig };
  });
  return parsed.every((each) => each !== undefined) ? parsed : undefined;
}

/** Whether the key made one of the signatures. `keyid` is a hint that anyone can change, so every signature is tried. */
const hasSigned = (
  { publicKey }: AttestationKey,
  message: Uint8Array,
  signatures: readonly DsseSignature[],
  verify: VerifyEd25519,
): boolean => signatures.some(({ sig }) => sig.length === 64 && verify(publicKey, message, sig));

/** Returns the decision in a payload, as `predicate`, or the fault. Only the types of the statement and the predicate are verified. */
function statementIn(payload: Uint8Array): { predicate: Record<string, unknown> } | { fault: string } {
  const text = decodeUtf8(payload);
  const parsed = text === undefined ? undefined : parseLine(text, 'the payload');
  if (parsed === undefined) return { fault: 'the payload is not UTF-8' };
  if ('fault' in parsed) return parsed;
  const statement = isObject(parsed.value) ? parsed.value : {};
  const { _type: type, predicateType, predicate } = statement;
  if (type !== STATEMENT_TYPE || predicateType !== PREDICATE_TYPE || !isObject(predicate))
    return { fault: 'the payload is not a statement about a promotion decision' };
  return { predicate };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
