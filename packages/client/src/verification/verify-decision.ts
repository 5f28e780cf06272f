import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import { parseLine } from '@countersign/core/domain/export-line';
import { ConfigurationError } from '../http/errors.ts';
import { digests } from './cryptography.ts';
import { type PublicKeys, verifyAttestation } from './verify-attestation.ts';

/** The result of a verification, with the reason of a failure. */
export type Verdict = { ok: true } | { ok: false; fault: string };

/** A workspace's decision key: 64 hex digits, as `countersign-server decision-key show` prints it, or its 32 bytes. */
export type DecisionKey = string | Uint8Array;

/** How a decision is verified: by a shared key, or by public keys and the attestation. */
export type DecisionTrust = SharedTrust | PublicTrust;

/** Verification by the workspace's decision key. */
export interface SharedTrust {
  /** The key, or both keys during a rotation. Its holder can also forge decisions: keep it like a password. */
  decisionKey: DecisionKey | readonly DecisionKey[];
}

/** Verification by the service's public keys. Their holders cannot forge decisions. */
export interface PublicTrust {
  publicKeys: PublicKeys;
  /** The header `countersign-attestation` in the receipt of a check with `attestation: true`, or the envelope or its JSON text. */
  attestation: string | object;
}

/**
 * Verifies a signed promotion decision: its hash, and its HMAC or its attestation (Ed25519). It does not test the verdict: check `allowed`,
 * and that the decision is the one that you requested.
 * @param decision the decision, or its original JSON text. A text is also checked for repeated members and inexact numbers.
 * @throws ConfigurationError if there is no key, a key is malformed, or the public keys contradict themselves.
 */
export function verifyDecision(decision: object | string, trust: DecisionTrust): Verdict {
  const parsed = typeof decision === 'string' ? readText(decision) : { value: decision };
  if ('fault' in parsed) return { ok: false, fault: parsed.fault };
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { ok: false, fault: 'it is not a decision' };
  const fault =
    'publicKeys' in trust
      ? attestationFault(value as { response_sha256?: unknown }, trust)
      : sharedFault(value as Record<string, unknown>, trust);
  return fault === undefined ? { ok: true } : { ok: false, fault };
}

function attestationFault(decision: { response_sha256?: unknown }, trust: PublicTrust): string | undefined {
  const verdict = verifyAttestation(trust.attestation, trust.publicKeys, decision);
  if (!verdict.ok) return verdict.fault;
  const matches = decision.response_sha256 === verdict.decision.response_sha256;
  return matches ? undefined : 'the attestation is about another decision, or the decision was altered';
}

function sharedFault(decision: Record<string, unknown>, { decisionKey }: SharedTrust): string | undefined {
  const keys = [decisionKey].flat().map(readDecisionKey);
  if (keys.length === 0) throw new ConfigurationError('verifying a decision needs a decisionKey');
  const faults = keys.map((key) => {
    const result = resultOrFault(() => decisionFault(decision, key, digests));
    return 'fault' in result ? result.fault : result.value;
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
  return parseLine(text, 'it');
}

/** The result of work on a decision's canonical form, or a fault if the decision has none. */
function resultOrFault<T>(work: () => T): { value: T } | { fault: string } {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof NotCanonicalError || error instanceof RangeError)
      return { fault: `the decision has no canonical form: ${error.message}` };
    throw error;
  }
}
