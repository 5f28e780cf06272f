import { attestDecision, type Envelope } from '@countersign/core/domain/attestation';
import type { Transaction } from '../database/transaction.ts';
import { findDecisionText } from '../storage/decisions.ts';
import { isIncluded, LogRewrittenError } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';
import { readSignedDecision } from './signed-decision.ts';

/** The keys for attesting decisions. */
export interface AttestationKeys {
  /** Every current key of the instance. */
  signers: readonly { keyid: string; sign(message: Uint8Array): Uint8Array }[];
  /** Derives the key that signs the decisions of a tenant. */
  decisionKey: (tenantId: string, keyId: string) => Uint8Array;
}

/** An attestation, or the reason why there is none. */
export type AttestationResult = { envelope: Envelope } | { fault: string };

/** A decision in the sealed log. */
export interface LoggedDecision {
  decision: { decision_id: string; response_sha256: string; evidence_sha256?: unknown };
  /** The JSON text, as signed and sent. */
  document: string;
}

/**
 * Attests a stored decision if `readLoggedDecision` returns it. Otherwise returns the fault, or undefined if there is no decision with this
 * ID.
 */
export async function attestStored(tx: Transaction, id: string, keys: AttestationKeys): Promise<AttestationResult | undefined> {
  const read = await readLoggedDecision(tx, id, keys);
  return read === undefined || 'fault' in read ? read : { envelope: attestDecision(read.decision, keys.signers) };
}

/**
 * Reads a stored decision if it is unchanged since it was signed and is in the sealed log. A valid HMAC is not sufficient: every gate
 * with the decision key can compute it, and anyone with write access to the database can add a row. Returns the fault of any other
 * decision, and undefined if there is no decision with this ID.
 */
export async function readLoggedDecision(
  tx: Transaction,
  id: string,
  keys: Pick<AttestationKeys, 'decisionKey'>,
): Promise<LoggedDecision | { fault: string } | undefined> {
  // The decision is read before the head, because a committed decision is in every head that is read later.
  const stored = findDecisionText(tx, id);
  const head = readSealedHead(tx, 'decisions').catch(faultOfLog);
  const [found, sealed] = await Promise.all([stored, head]);
  if (found === undefined) return undefined;
  const read = readSignedDecision(found.document, (keyId) => keys.decisionKey(tx.tenantId, keyId));
  if ('fault' in read) return read;
  const decision = read.decision as unknown as LoggedDecision['decision'];
  if (decision.decision_id !== id) return { fault: 'its ID was changed' };
  if (JSON.stringify(decision) !== found.document) return { fault: 'its document is not the text that was signed' };
  if ('fault' in sealed) return sealed;
  const row = { seq: found.seq, leafData: Buffer.from(decision.response_sha256, 'hex') };
  const included = await isIncluded(tx, 'decisions', row, sealed).catch(faultOfLog);
  if (typeof included === 'object') return included;
  if (!included) return { fault: NOT_IN_LOG };
  return { decision, document: found.document };
}

const NOT_IN_LOG = 'it is not in the sealed decision log: it was written outside the server';

function faultOfLog(error: unknown): { fault: string } {
  if (error instanceof LogRewrittenError) return { fault: error.message };
  throw error;
}
