import { evidenceFault } from '@countersign/core/domain/evidence-verifier';
import { type PromotionDecision, verifyAttestation, verifyDecision as verifyByKey } from '../index.ts';
import { digests } from '../verification/cryptography.ts';
import { command } from './command.ts';
import { shapeFault } from './decision-shape.ts';
import { wrongUse } from './exit-codes.ts';
import { readFile } from './files.ts';
import type { Options } from './options.ts';
import { oneLine, shortLine } from './plain-text.ts';
import { hasKeys, liveAt, readTrusted, TRUST, type Trusted, workspaceFault } from './trusted.ts';

const OPTIONS = {
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'the key: a file of the decision key or of the public key, or env:NAME',
  },
  evidence: {
    type: 'string',
    value: 'FILE',
    help: 'its evidence document (/api/ledger/decisions/ID/evidence): its digest, and that the verdict follows from it',
  },
  allowed: { type: 'boolean', help: 'end with 1 unless the decision allows' },
} as const satisfies Options;

/** Largest decision or attestation, in bytes. */
const DECISION_BYTES_MAX = 4 * 1024 * 1024;

type Opened = { decision: PromotionDecision; by: string } | { fault: string };

/** `verify decision`: is this file genuine? Offline. */
export const verifyDecision = command({
  name: 'verify decision',
  arguments: 'FILE',
  takesArguments: true,
  summary: 'Check a signed decision, or its attestation (DSSE), without the service: 0 genuine, 1 not.',
  options: OPTIONS,
  examples: [
    'countersign verify decision decision.json --verify-key workspace.key',
    'countersign verify decision attestation.json --trust trust.json --allowed',
    'countersign verify decision attestation.json --trust trust.json --evidence evidence.json',
  ],
  notes: 'Genuine is not allowed, and an old decision stays genuine: read what it says, and of when it is. --allowed tests it.',
  async run(session, values, [path, ...more]) {
    if (path === undefined || more.length > 0) throw wrongUse('give one FILE with a decision or an attestation');
    const trusted = readTrusted(session, values);
    if (!hasKeys(trusted))
      throw wrongUse(
        'by which key? Give --trust, --verify-key, COUNTERSIGN_TRUST_FILE, COUNTERSIGN_VERIFY_KEY or COUNTERSIGN_VERIFY_KEY_FILE',
      );
    const opened = open(path, textOf(path), trusted);
    const fault =
      'fault' in opened
        ? opened.fault
        : (workspaceFault(opened.decision, trusted) ?? keptFault(opened.decision, values.evidence));
    if (fault !== undefined || 'fault' in opened) {
      session.answer({ genuine: false, fault }, [`NOT GENUINE: ${shortLine(fault!, 800)}`]);
      return 'no';
    }
    const { decision, by } = opened;
    const says = decision.allowed ? 'allowed' : 'blocked';
    session.answer({ genuine: true, verified_by: by, decision, ...(values.evidence === undefined ? {} : { evidence: true }) }, [
      `genuine, signed by ${shortLine(by, 120)}${values.evidence === undefined ? '' : '; the evidence gives this verdict'}`,
      `${says.toUpperCase()} at ${decision.timestamp}: ${oneLine(decision.message)}`,
    ]);
    return values.allowed === true && !decision.allowed ? 'no' : 'ok';
  },
});

const textOf = (path: string): string => Buffer.from(readFile(path, DECISION_BYTES_MAX)).toString('utf8');

/** Why the evidence given is not the decision's, or does not give its verdict. A line end that an editor added does not count. */
const keptFault = (decision: PromotionDecision, path: string | undefined): string | undefined =>
  path === undefined ? undefined : evidenceFault({ ...decision }, textOf(path).replace(/\r?\n$/, ''), digests);

function open(path: string, text: string, trusted: Trusted): Opened {
  const value = parsed(text);
  if (value === undefined) throw wrongUse(`${JSON.stringify(path)} is not JSON`);
  const opened =
    value !== null && typeof value === 'object' && 'payloadType' in value
      ? openEnvelope(text, trusted)
      : openSigned(text, value, trusted);
  if ('fault' in opened) return opened;
  const fault = shapeFault(opened.decision);
  return fault === undefined ? opened : { fault };
}

function openSigned(text: string, value: unknown, { decisionKeys }: Trusted): Opened {
  if (decisionKeys.length === 0)
    throw wrongUse(
      'a decision by itself is checked with the decision key; a public key checks its attestation (`gate --attestation FILE` writes it, /api/ledger/decisions/ID/attestation has it)',
    );
  const verdict = verifyByKey(text, { decisionKey: decisionKeys });
  if (!verdict.ok) return { fault: verdict.fault };
  const decision = value as PromotionDecision;
  return { decision, by: `decision key ${decision.key_id}` };
}

function openEnvelope(text: string, { publicKeys }: Trusted): Opened {
  if (publicKeys.length === 0) throw wrongUse('an attestation is checked with the public key: a verifier key or a JWKS');
  const verdict = verifyAttestation(text, { keys: publicKeys });
  if (!verdict.ok) return { fault: verdict.fault };
  const { decision } = verdict;
  const live = liveAt(decision.timestamp, publicKeys);
  if (live.length === 0 || !verifyAttestation(text, { keys: live }).ok)
    return { fault: 'it is signed by a key that had ended before the decision' };
  return { decision, by: `public key ${verdict.keyId}` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
