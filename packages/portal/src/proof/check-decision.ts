import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { decisionDigest, decisionFault } from '@countersign/core/domain/decision-signature';
import { evidenceFault } from '@countersign/core/domain/evidence-verifier';
import { inexactnessOf } from '@countersign/core/domain/exact-json';
import { openAttestation } from '@countersign/core/domain/open-attestation';
import { digests, verifyEd25519 } from './browser-digests.ts';
import type { PublicKeys } from './public-keys.ts';

/** One thing that was checked, and what came of it. */
export interface Finding {
  good: boolean;
  detail: string;
}

/** What a decision's document says when it is recomputed here. */
export interface DecisionFindings {
  /** The content hashes to the digest that it carries. */
  hash: Finding;
  /** One of the instance's published Ed25519 keys has attested exactly this decision. */
  attestation: Finding;
  /** The evidence is the one that was signed, and deciding on it again gives this verdict; absent where the decision names none. */
  evidence?: Finding;
  /** HMAC by the decision key; only where somebody has loaded it. */
  hmac?: Finding;
}

/** What a decision is checked with besides its own text. */
export interface DecisionProofParts {
  envelope: unknown;
  keys: PublicKeys;
  /** The text of its evidence document; null where none is kept. */
  evidence: string | null;
  /** 32 bytes, when an admin has loaded it. */
  decisionKey?: Uint8Array | undefined;
}

/** Checks a signed decision in the browser, by the same code as the server and the command line, over the text as it was answered. */
export function checkDecision(document: string, { envelope, keys, evidence, decisionKey }: DecisionProofParts): DecisionFindings {
  const decision = parsed(document);
  if (decision === undefined) {
    const finding = { good: false, detail: 'The document is not JSON that can be read in one way only.' };
    return { hash: finding, attestation: finding };
  }
  return {
    hash: hashFinding(decision),
    attestation: attestationFinding(decision, envelope, keys),
    ...evidenceFinding(decision, evidence),
    ...(decisionKey === undefined ? {} : { hmac: hmacFinding(decision, decisionKey) }),
  };
}

function hashFinding(decision: Record<string, unknown>): Finding {
  try {
    const computed = decisionDigest(decision, digests);
    return computed === decision.response_sha256
      ? { good: true, detail: `SHA-256 over the canonical text is ${computed}, as it says.` }
      : { good: false, detail: `It says ${String(decision.response_sha256)}, but hashes to ${computed}: it was altered.` };
  } catch (error) {
    return { good: false, detail: `It has no canonical form: ${(error as Error).message}.` };
  }
}

function attestationFinding(decision: Record<string, unknown>, envelope: unknown, keys: PublicKeys): Finding {
  if (envelope === null || envelope === undefined) return { good: false, detail: 'The server gives no attestation for it.' };
  const opened = openAttestation(envelope, keys.attestation, verifyEd25519, (each) => decisionDigest(each, digests));
  if ('fault' in opened) return { good: false, detail: `Not to be believed: ${opened.fault}.` };
  if (canonicalJson(opened.decision) !== canonicalJson(decision))
    return { good: false, detail: 'The attestation is about another decision than this one.' };
  return { good: true, detail: `Ed25519 signature of key ${opened.keyid} over the in-toto statement.` };
}

function evidenceFinding(decision: Record<string, unknown>, evidence: string | null): { evidence?: Finding } {
  if (evidence === null && decision.evidence_sha256 === undefined) return {};
  if (evidence === null)
    return { evidence: { good: false, detail: 'The decision names its evidence, and the server has none.' } };
  const fault = evidenceFault(decision, evidence, digests);
  return {
    evidence:
      fault === undefined
        ? { good: true, detail: `SHA-256 ${String(decision.evidence_sha256)}, and deciding on it again gives the same verdict.` }
        : { good: false, detail: `Not to be believed: ${fault}.` },
  };
}

function hmacFinding(decision: Record<string, unknown>, key: Uint8Array): Finding {
  const fault = decisionFault(decision, key, digests);
  return fault === undefined
    ? { good: true, detail: `HMAC-SHA256 by the decision key ${String(decision.key_id)}.` }
    : { good: false, detail: `Not to be believed: ${fault}.` };
}

/** A document in which a member stands twice could be read in two ways: it is refused. */
function parsed(document: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(document);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && inexactnessOf(document).length === 0 ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The bytes of a decision key from its 64 hex digits; undefined when it has not that form. */
export function decisionKeyBytes(hex: string): Uint8Array | undefined {
  const text = hex.trim();
  if (!/^[0-9a-fA-F]{64}$/.test(text)) return undefined;
  return Uint8Array.from({ length: 32 }, (_each, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}
