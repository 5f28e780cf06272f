import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import { inexactnessOf } from '@countersign/core/domain/exact-json';
import { ConfigurationError } from '../http/errors.ts';
import { digests } from './cryptography.ts';

/** Whether something is to be believed; when it is not, why. */
export type Verdict = { ok: true } | { ok: false; fault: string };

/** A workspace's decision key: 64 hex digits, as `countersign-server decision-key show` prints it, or its 32 bytes. */
export type DecisionKey = string | Uint8Array;

/** By what a decision is checked. */
export interface DecisionTrust {
  /** The key, or the two that are live while one follows the other. Whoever has it can check decisions, and forge them: keep it like a password. */
  decisionKey: DecisionKey | readonly DecisionKey[];
}

/**
 * Whether a promotion decision is as the service signed it: hash over its content, HMAC over the hash. Says nothing about what was
 * decided: test `allowed`, and that it is the decision you asked for.
 * @param decision the decision, or its JSON text as it came; a text is also held against what parsing loses.
 * @throws ConfigurationError when a key has not its form.
 */
export function verifyDecision(decision: object | string, { decisionKey }: DecisionTrust): Verdict {
  const keys = [decisionKey].flat().map(readDecisionKey);
  if (keys.length === 0) throw new ConfigurationError('verifying a decision needs a decisionKey');
  const read = typeof decision === 'string' ? readText(decision) : { value: decision };
  if ('fault' in read) return { ok: false, fault: read.fault };
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { ok: false, fault: 'it is no decision' };
  const faults = keys.map((key) => faultOf(value as Record<string, unknown>, key));
  return faults.includes(undefined) ? { ok: true } : { ok: false, fault: faults[0]! };
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
  try {
    const value: unknown = JSON.parse(text);
    const [inexact] = inexactnessOf(text);
    return inexact === undefined ? { value } : { fault: `${inexact.message} (at ${inexact.path})` };
  } catch (error) {
    return { fault: `it is not JSON: ${(error as Error).message}` };
  }
}

function faultOf(decision: Record<string, unknown>, key: Uint8Array): string | undefined {
  try {
    return decisionFault(decision, key, digests);
  } catch (error) {
    if (error instanceof NotCanonicalError || error instanceof RangeError)
      return `the decision has no canonical form: ${error.message}`;
    throw error;
  }
}
