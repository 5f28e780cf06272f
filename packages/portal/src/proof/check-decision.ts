import type { AttestationKey } from '@countersign/core/domain/attestation';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { decisionDigest, decisionFault } from '@countersign/core/domain/decision-signature';
import { evidenceFault } from '@countersign/core/domain/evidence-verifier';
import { parseLine } from '@countersign/core/domain/export-line';
import { openAttestation } from '@countersign/core/domain/open-attestation';
import { digests, verifyEd25519 } from './browser-cryptography.ts';

/** The result of one check. */
export interface Finding {
  passed: boolean;
  detail: string;
}

/** The results of all checks of a decision. */
export interface DecisionFindings {
  /** Whether the hash of the content matches the digest in the document. */
  hash: Finding;
  /** Whether a published Ed25519 key of the instance attests this decision. */
  attestation: Finding;
  /** Whether the evidence has the signed hash and supports the verdict. Absent if the document could not be parsed. */
  evidence?: Finding;
  /** Whether the HMAC by the decision key is valid. Absent without the key, or if the document could not be parsed. */
  hmac?: Finding;
}

/** The instance's public keys. */
export interface PublicKeys {
  attestation: AttestationKey[];
}

/** The inputs that a decision is checked against. */
export interface DecisionProofParts {
  /** The attestation: a DSSE envelope. Null or undefined if the server has none. */
  envelope: unknown;
  keys: PublicKeys;
  /** The text of the decision's evidence document. */
  evidence: string;
  /** The 32 bytes of the decision key; undefined if no admin has loaded it. */
  decisionKey?: Uint8Array | undefined;
}

/** Verifies the text of a signed decision, with the same code as the server and the command line. */
export function checkDecision(document: string, { envelope, keys, evidence, decisionKey }: DecisionProofParts): DecisionFindings {
  const parsed = readDocument(document);
  if ('fault' in parsed) {
    const finding = { passed: false, detail: `Not valid: ${parsed.fault}.` };
    return { hash: finding, attestation: finding };
  }
  const { decision } = parsed;
  return {
    hash: checkHash(decision),
    attestation: checkAttestation(decision, envelope, keys),
    evidence: checkEvidence(decision, evidence),
    ...(decisionKey === undefined ? {} : { hmac: checkHmac(decision, decisionKey) }),
  };
}

function checkHash(decision: Record<string, unknown>): Finding {
  try {
    const computed = decisionDigest(decision, digests);
    return computed === decision.response_sha256
      ? { passed: true, detail: `The SHA-256 of the canonical text is ${computed}, as the document states.` }
      : {
          passed: false,
          detail: `The document states ${String(decision.response_sha256)}, but its hash is ${computed}. The document was altered.`,
        };
  } catch (error) {
    return { passed: false, detail: `The document has no canonical form: ${(error as Error).message}.` };
  }
}

function checkAttestation(decision: Record<string, unknown>, envelope: unknown, keys: PublicKeys): Finding {
  if (envelope === null || envelope === undefined)
    return { passed: false, detail: 'The server has no attestation of this decision.' };
  const opened = openAttestation(envelope, keys.attestation, verifyEd25519, (each) => decisionDigest(each, digests));
  if ('fault' in opened) return { passed: false, detail: `Not valid: ${opened.fault}.` };
  if (canonicalJson(opened.decision) !== canonicalJson(decision))
    return { passed: false, detail: 'The attestation is for a different decision.' };
  return { passed: true, detail: `The in-toto statement has a valid Ed25519 signature by key ${opened.keyid}.` };
}

function checkEvidence(decision: Record<string, unknown>, evidence: string): Finding {
  const fault = evidenceFault(decision, evidence, digests);
  return fault === undefined
    ? {
        passed: true,
        detail: `The SHA-256 is ${String(decision.evidence_sha256)}. Evaluating the evidence again gives the same verdict.`,
      }
    : { passed: false, detail: `Not valid: ${fault}.` };
}

function checkHmac(decision: Record<string, unknown>, key: Uint8Array): Finding {
  const fault = decisionFault(decision, key, digests);
  return fault === undefined
    ? { passed: true, detail: `The HMAC-SHA256 with decision key ${String(decision.key_id)} is valid.` }
    : { passed: false, detail: `Not valid: ${fault}.` };
}

/** Parses a document, or returns its fault. Deep nesting, repeated members, inexact numbers and lone surrogates are faults. */
function readDocument(document: string): { decision: Record<string, unknown> } | { fault: string } {
  const parsed = parseLine(document, 'the document');
  if ('fault' in parsed) return parsed;
  const { value } = parsed;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? { decision: value as Record<string, unknown> } : { fault: 'the document is not a JSON object' };
}

/** The bytes of a decision key from its 64 hex digits; undefined for any other text. */
export function decisionKeyBytes(hex: string): Uint8Array | undefined {
  const text = hex.trim();
  if (!/^[0-9a-fA-F]{64}$/.test(text)) return undefined;
  return Uint8Array.from({ length: 32 }, (_each, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}
