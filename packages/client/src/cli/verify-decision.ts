import { evidenceFault } from '@countersign/core/domain/evidence-verifier';
import { UNKNOWN_SIGNER } from '@countersign/core/domain/signed-note';
import { type PromotionDecision, verifyAttestation, verifyDecision as verifyByKey } from '../index.ts';
import { digests } from '../verification/cryptography.ts';
import { command } from './command.ts';
import { shapeFault } from './decision-shape.ts';
import { wrongUse } from './exit-codes.ts';
import { readTextFile } from './files.ts';
import type { Options } from './options.ts';
import { oneLine, shortLine } from './plain-text.ts';
import { hasKeys, readTrustSettings, TRUST, type TrustSettings, workspaceFault } from './trust-settings.ts';

const OPTIONS = {
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'instead of --trust: file with the decision key or the public key; env:NAME reads a variable',
  },
  evidence: {
    type: 'string',
    value: 'FILE',
    help: 'the evidence document of the decision (/api/ledger/decisions/ID/evidence): checks its digest and recomputes the verdict',
  },
  allowed: { type: 'boolean', help: 'exit with 1 unless the decision allows the promotion' },
} as const satisfies Options;

/** Largest decision, attestation or evidence document, in bytes. */
const DOCUMENT_BYTES_MAX = 4 * 1024 * 1024;

type OpenResult = { decision: PromotionDecision; by: string } | { fault: string };

/** `verify decision`: checks offline whether a decision is genuine. */
export const verifyDecision = command({
  name: 'verify decision',
  arguments: 'FILE',
  takesArguments: true,
  summary: 'Check a signed decision, or its attestation (DSSE), without the service; exits with 0 only if it is genuine.',
  options: OPTIONS,
  examples: [
    'countersign verify decision decision.json --verify-key workspace.key',
    'countersign verify decision attestation.json --trust trust.json --allowed',
    'countersign verify decision attestation.json --trust trust.json --evidence evidence.json',
  ],
  notes: `A genuine decision can be blocked, old, about another agent or harness, or made with other limits. Read its verdict, time,
message, required_threshold, max_age_hours and harness_id (--json prints the decision). --allowed checks only the verdict.`,
  async run(session, values, [path, ...more]) {
    if (path === undefined || more.length > 0) throw wrongUse('give one FILE with a decision or an attestation');
    const trustSettings = readTrustSettings(session, values);
    if (!hasKeys(trustSettings))
      throw wrongUse(
        'no key: give --trust, --verify-key, COUNTERSIGN_TRUST_FILE, ' +
          'COUNTERSIGN_TRUST, COUNTERSIGN_VERIFY_KEY or COUNTERSIGN_VERIFY_KEY_FILE',
      );
    const openResult = open(path, textOf(path), trustSettings);
    const fault =
      'fault' in openResult
        ? openResult.fault
        : (workspaceFault(openResult.decision, trustSettings) ?? evidenceFileFault(openResult.decision, values.evidence));
    if (fault !== undefined || 'fault' in openResult) {
      session.writeResult({ genuine: false, fault }, [`NOT GENUINE: ${shortLine(fault!, 800)}`]);
      return 'no';
    }
    const { decision, by } = openResult;
    const outcome = decision.allowed ? 'allowed' : 'blocked';
    session.writeResult(
      { genuine: true, verified_by: by, decision, ...(values.evidence === undefined ? {} : { evidence: true }) },
      [
        `genuine, signed by ${shortLine(by, 120)}${values.evidence === undefined ? '' : '; the evidence supports the verdict'}`,
        `${outcome.toUpperCase()} at ${decision.timestamp}: ${oneLine(decision.message)}`,
      ],
    );
    return values.allowed === true && !decision.allowed ? 'no' : 'ok';
  },
});

const textOf = (path: string): string => readTextFile(path, DOCUMENT_BYTES_MAX);

/**
 * Why the evidence document does not belong to the decision, or gives another verdict. Undefined if it supports the decision, or if no
 * document is given. Ignores a final line end.
 */
const evidenceFileFault = (decision: PromotionDecision, path: string | undefined): string | undefined =>
  path === undefined ? undefined : evidenceFault({ ...decision }, textOf(path).replace(/\r?\n$/, ''), digests);

function open(path: string, text: string, trustSettings: TrustSettings): OpenResult {
  const value = parseJson(text);
  if (value === undefined) throw wrongUse(`${JSON.stringify(path)} is not JSON`);
  const openResult =
    value !== null && typeof value === 'object' && 'payloadType' in value
      ? openEnvelope(text, trustSettings)
      : openSigned(text, value, trustSettings);
  if ('fault' in openResult) return openResult;
  const fault = shapeFault(openResult.decision);
  return fault === undefined ? openResult : { fault };
}

function openSigned(text: string, value: unknown, { decisionKeys, publicKeys, trustFile }: TrustSettings): OpenResult {
  if (publicKeys.length > 0) {
    const keySource = trustFile === undefined ? 'a public key' : `a trust file (${trustFile.source})`;
    throw wrongUse(
      `with ${keySource}, only an attestation counts, because holders of the decision key can forge decisions; verify the ` +
        `attestation (\`gate --attestation FILE\` or /api/ledger/decisions/ID/attestation), or give only the decision key`,
    );
  }
  const verdict = verifyByKey(text, { decisionKey: decisionKeys });
  if (!verdict.ok) return { fault: verdict.fault };
  const decision = value as PromotionDecision;
  return { decision, by: `decision key ${decision.key_id}` };
}

const ROTATION_REMEDY =
  '; if the signing key was rotated, renew the trust file (countersign-server trust show) or the public key';

function openEnvelope(text: string, { publicKeys }: TrustSettings): OpenResult {
  if (publicKeys.length === 0) throw wrongUse('an attestation needs a public key: give a trust file, a verifier key or a JWKS');
  const verdict = verifyAttestation(text, { keys: publicKeys });
  if (!verdict.ok) return { fault: verdict.fault === UNKNOWN_SIGNER ? `${UNKNOWN_SIGNER}${ROTATION_REMEDY}` : verdict.fault };
  return { decision: verdict.decision, by: `public key ${verdict.keyId}` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
