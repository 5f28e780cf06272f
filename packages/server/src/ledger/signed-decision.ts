import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { NESTING_MAX } from '@countersign/core/domain/chain-report';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import { digests } from '../crypto/digests.ts';
import { parsedDocument } from './stored-document.ts';

/** A decision, or the fault of its stored document. */
type ReadDecision = { decision: Record<string, unknown> } | { fault: string };

/** Parses the stored document of a decision. Returns the decision without verifying it, or the fault of a document that was altered. */
export function readDecision(document: string): ReadDecision {
  const decision = parsedDocument(document);
  if (decision === undefined) return { fault: 'the stored document is not a JSON object' };
  if (isNestedDeeperThan(decision, NESTING_MAX)) return { fault: `the stored document is nested deeper than ${NESTING_MAX}` };
  return { decision };
}

/**
 * Parses the stored document of a decision, and verifies its digest and its HMAC. Returns the decision, or the fault of a document that
 * was altered.
 * @param keyOf derives the decision key with an ID.
 */
export function readSignedDecision(document: string, keyOf: (keyId: string) => Uint8Array): ReadDecision {
  const read = readDecision(document);
  if ('fault' in read) return read;
  const { decision } = read;
  if (typeof decision.key_id !== 'string') return { fault: 'key_id is not a string' };
  const fault = signatureFault(decision, keyOf(decision.key_id));
  return fault === undefined ? { decision } : { fault };
}

function signatureFault(decision: Record<string, unknown>, key: Uint8Array): string | undefined {
  try {
    return decisionFault(decision, key, digests);
  } catch (error) {
    if (error instanceof NotCanonicalError) return `the decision has no canonical form: ${error.message}`;
    throw error;
  }
}
