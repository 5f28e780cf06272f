import { envelopeOfHeader } from '@countersign/core/domain/attestation';
import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { decisionDigest, decisionFault } from '@countersign/core/domain/decision-signature';
import { parseLine } from '@countersign/core/domain/export-line';
import { ConfigurationError } from '../http/errors.ts';
import { digests } from './cryptography.ts';
import { type PublicKeys, verifyAttestation } from './verify-attestation.ts';

/** Whether something is to be believed; when it is not, why. */
export type Verdict = { ok: true } | { ok: false; fault: string };

/** A workspace's decision key: 64 hex digits, as `countersign-server decision-key show` prints it, or its 32 bytes. */
export type DecisionKey = string | Uint8Array;

/** By what a decision is checked: a key that is shared, or public keys and the attestation that came with it. */
export type DecisionTrust = SharedTrust | PublicTrust;

/** Checking by the workspace's decision key. */
export interface SharedTrust {
  /** The key, or the two that are live while one follows the other. Whoever has it can check decisions, and forge them: keep it like a password. */
  decisionKey: DecisionKey | readonly DecisionKey[];
}

/** Checking by the service's public keys, which forge nothing. */
export interface PublicTrust {
  publicKeys: PublicKeys;
  /** The header `countersign-attestation`, which a check with `attestation: true` has in its receipt; or the envelope. */
  attestation: string | object;
}

/**
 * Whether a promotion decision is as the service signed it: hash over its content, and HMAC or Ed25519 signature over that. Says
 * nothing about what was decided: test `allowed`, and that it is the decision you asked for.
 * @param decision the decision, or its JSON text as it came; a text is also held against what parsing loses.
 * @throws ConfigurationError when a key has not its form.
 */
export function verifyDecision(decision: object | string, trust: DecisionTrust): Verdict {
  const read = typeof decision === 'string' ? readText(decision) : { value: decision };
  if ('fault' in read) return { ok: false, fault: read.fault };
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { ok: false, fault: 'it is no decision' };
  const fault =
    'publicKeys' in trust ? attestedFault(value as Attested, trust) : sharedFault(value as Record<string, unknown>, trust);
  return fault === undefined ? { ok: true } : { ok: false, fault };
}

/** What an attestation names of its decision. */
type Attested = Parameters<typeof envelopeOfHeader>[0];

function attestedFault(decision: Attested, { attestation, publicKeys }: PublicTrust): string | undefined {
  const envelope =
    typeof attestation === 'string' ? canonical(() => envelopeOfHeader(decision, attestation)) : { value: attestation };
  if ('fault' in envelope) return envelope.fault;
  if (envelope.value === undefined) return 'the attestation has not the form of the header countersign-attestation';
  const verdict = verifyAttestation(envelope.value, publicKeys);
  if (!verdict.ok) return verdict.fault;
  const hash = canonical(() => decisionDigest(decision, digests));
  if ('fault' in hash) return hash.fault;
  const isThis = hash.value === verdict.decision.response_sha256 && decision.response_sha256 === hash.value;
  return isThis ? undefined : 'the attestation is about another decision, or the decision was altered';
}

function sharedFault(decision: Record<string, unknown>, { decisionKey }: SharedTrust): string | undefined {
  const keys = [decisionKey].flat().map(readDecisionKey);
  if (keys.length === 0) throw new ConfigurationError('verifying a decision needs a decisionKey');
  const faults = keys.map((key) => {
    const found = canonical(() => decisionFault(decision, key, digests));
    return 'fault' in found ? found.fault : found.value;
  });
  return faults.includes(undefined) ? undefined : faults[0];
}

function readDecisionKey(key: unknown): Uint8Array {
  if (key instanceof Uint8Array && key.length === 32) return key;
  if (typeof key === 'string' && /^[0-9a-f]{64}$/i.test(key.trim())) return bytesOfHex(key.trim());
  throw new ConfigurationError(
    'decisionKey must be 64 hex digits, as `countersign-server decision-key show` prints them, or 32 bytes',
  );
}

const bytesOfHex = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g)!, (byte) => Number.parseInt(byte, 16));

function readText(text: string): { value: unknown } | { fault: string } {
  const read = parseLine(text, 'it');
  return 'fault' in read ? read : { value: read.row };
}

/** What work on a decision's canonical form makes; or the fault that it has none. */
function canonical<T>(work: () => T): { value: T } | { fault: string } {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof NotCanonicalError || error instanceof RangeError)
      return { fault: `the decision has no canonical form: ${error.message}` };
    throw error;
  }
}
