import { envelopeOfHeader } from '@countersign/core/domain/attestation';
import { isRetryable } from '../http/retry-pace.ts';
import { harnessIdOf } from '../importers/harness-id.ts';
import { type Countersign, CountersignError, type PromotionDecision, receiptOf } from '../index.ts';
import { type Asked, disbelief, onlyApprovalMissing } from './believe-decision.ts';
import { command } from './command.ts';
import type { Ending } from './exit-codes.ts';
import { wrongUse } from './exit-codes.ts';
import { checkWritable } from './files.ts';
import { type Finding, gateReport } from './gate-report.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import { readDuration, readLabel, readPercentage, readUuid, readWhole } from './readings.ts';
import type { Session } from './session.ts';
import { checkSignature, readTrusted, type Trusted } from './trusted.ts';
import { waitForApproval } from './wait-for-approval.ts';

const OPTIONS = {
  agent: { type: 'string', value: 'NAME', help: 'name of the agent that is to be promoted' },
  'agent-id': { type: 'string', value: 'UUID', help: 'its id, instead of the name or besides it' },
  'min-pass-rate': { type: 'string', value: 'PERCENT', help: 'the pass rate required (80)' },
  'max-age-hours': { type: 'string', value: 'HOURS', help: 'how old the evaluation may be (72)' },
  harness: { type: 'string', value: 'NAME', help: 'look at the last evaluation of this harness alone: its name or its UUID' },
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'key that the decision must be signed with: a file of the decision key, or of the public key (verifier key, JWKS); env:NAME for a variable',
  },
  'require-verify-key': { type: 'boolean', help: 'refuse to run without a key to verify with' },
  'clock-skew': { type: 'string', value: 'TIME', help: 'how far the clocks of the two machines may be apart (60s)' },
  wait: {
    type: 'string',
    value: 'TIME',
    help: 'while an approval is all that is missing, or the service cannot be reached, ask again for this long',
  },
  'portal-url': {
    type: 'string',
    value: 'ADDRESS',
    help: 'the portal that approval links lead to (COUNTERSIGN_PORTAL_URL, or --url)',
  },
  output: { type: 'string', value: 'FILE', help: 'write the signed decision there, byte for byte as it came' },
  attestation: {
    type: 'string',
    value: 'FILE',
    help: 'write its attestation (DSSE) there, which anybody can check later with the public key',
  },
  junit: { type: 'string', value: 'FILE', help: 'write the conditions there as JUnit XML, for GitLab' },
  ...CONNECTION,
} as const satisfies Options;

/** `gate`: may this agent be promoted? */
export const gate = command({
  name: 'gate',
  summary: 'Ask whether an agent may be promoted; ends with 0 only when it may.',
  options: OPTIONS,
  examples: [
    'countersign gate --agent support-bot --min-pass-rate 90 --max-age-hours 24',
    'countersign gate --agent support-bot --verify-key instance.vkey --wait 30m --output decision.json',
    'countersign gate --agent support-bot --verify-key instance.vkey --attestation attestation.json',
  ],
  notes: `A decision is believed only if it is about this agent, threshold, age and moment, bears itself out, and, with --verify-key, is signed
by that key. The public key (countersign-server signing-key show --vkey) needs no secret in CI; fetch it once and keep it in the repository.`,
  async run(session, values) {
    const asked = readAsked(values);
    const trusted = readTrusted(session, values['verify-key']);
    if (trusted === undefined && values['require-verify-key'] === true)
      throw wrongUse(
        '--require-verify-key: no key was given; give --verify-key, COUNTERSIGN_VERIFY_KEY or COUNTERSIGN_VERIFY_KEY_FILE',
      );
    const skewMs = readDuration('--clock-skew', values['clock-skew'] ?? '60s');
    const waitMs = values.wait === undefined ? 0 : readDuration('--wait', values.wait, 0);
    const portalUrl = values['portal-url'] ?? session.variable('COUNTERSIGN_PORTAL_URL') ?? session.address(values);
    // Before anything is asked: an allowed decision may use an approval up.
    for (const path of [values.output, values.attestation, values.junit]) if (path !== undefined) checkWritable(path);
    const client = await session.client(values);
    const demand = { asked, trusted, skewMs, attested: values.attestation !== undefined };
    const ask = () => askOnce(session, client, demand);
    const finding = await waitForApproval(session, ask, { waitMs, portalUrl });
    const { output, attestation, junit } = values;
    gateReport(session, finding, { asked, portalUrl, output, attestation, junit });
    return finding.ending;
  },
});

function readAsked(values: Partial<Record<keyof typeof OPTIONS, unknown>>): Asked {
  const text = (name: keyof typeof OPTIONS) => values[name] as string | undefined;
  const [name, id, harness] = [text('agent'), text('agent-id'), text('harness')];
  if (name === undefined && id === undefined) throw wrongUse('which agent? Give --agent NAME or --agent-id UUID');
  return {
    agentName: name === undefined ? undefined : readLabel('--agent', name),
    agentId: id === undefined ? undefined : readUuid('--agent-id', id),
    harnessId: harness === undefined ? undefined : harnessIdOf(readLabel('--harness', harness)),
    minPassRate: readPercentage('--min-pass-rate', text('min-pass-rate') ?? '80'),
    maxAgeHours: readWhole('--max-age-hours', text('max-age-hours') ?? '72', 1, 8760),
  };
}

/** What is asked, and what the answer must bring to be believed. */
interface Demand {
  asked: Asked;
  trusted: Trusted | undefined;
  skewMs: number;
  /** Whether the attestation is to be kept. */
  attested: boolean;
}

/** Asks once. Whatever happens becomes a finding: nothing but a decision that is believed allows. */
async function askOnce(session: Session, client: Countersign, demand: Demand): Promise<Finding> {
  const { asked, trusted, attested, skewMs } = demand;
  let sentAt = session.terminal.now();
  try {
    const decision = await client.governance.checkPromotion(
      {
        ...agentOf(asked),
        ...(asked.harnessId === undefined ? {} : { harness_id: asked.harnessId }),
        min_pass_rate: asked.minPassRate,
        max_age_hours: asked.maxAgeHours,
      },
      { attestation: attested || (trusted?.publicKeys.length ?? 0) > 0 },
    );
    const receivedAt = session.terminal.now();
    // A clock that was set back meanwhile says nothing of the order of the two.
    sentAt = Math.min(sentAt, receivedAt);
    return judged(decision, demand, { sentAt, receivedAt, skewMs });
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { ...undecided(shortLine(error.message, 1000)), isTransient: isRetryable(error) };
  }
}

/** The agent as the question names it: by its ID, its name, or both. */
function agentOf({ agentName, agentId }: Asked): { agent_name: string; agent_id?: string } | { agent_id: string } {
  if (agentName === undefined) return { agent_id: agentId! };
  return agentId === undefined ? { agent_name: agentName } : { agent_name: agentName, agent_id: agentId };
}

function judged(
  decision: PromotionDecision,
  { asked, trusted, attested }: Demand,
  moment: Parameters<typeof disbelief>[3],
): Finding {
  const { text, headers } = receiptOf(decision)!;
  const fault = disbelief(decision, text, asked, moment);
  if (fault !== undefined) return undecided(`the answer is not believed: ${fault}`);
  const trust = trusted === undefined ? undefined : checkSignature(text, headers['countersign-attestation'], trusted);
  if (trust !== undefined && 'fault' in trust) return undecided(`the signature is not believed: ${trust.fault}`);
  const header = headers['countersign-attestation'];
  const attestation = attested && header !== undefined ? envelopeOfHeader(decision, header) : undefined;
  if (attested && attestation === undefined)
    return undecided('the answer bears no attestation (Countersign-Attestation), which --attestation is to write');
  return {
    ending: endingOf(decision),
    decision,
    text,
    attestation,
    verifiedBy: trust?.by,
    checkpoint: headers['countersign-checkpoint'],
    fault: undefined,
    isTransient: false,
    workspace: workspaceOf(headers),
  };
}

/** The workspace that decided (`Countersign-Workspace`): a part of a link, so nothing but a UUID is taken. */
const workspaceOf = (headers: Record<string, string>): string | undefined =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(headers['countersign-workspace'] ?? '')?.[0];

function endingOf(decision: PromotionDecision): Ending {
  if (decision.allowed) return 'ok';
  return onlyApprovalMissing(decision) ? 'pending' : 'no';
}

const undecided = (fault: string): Finding => ({
  ending: 'undecided',
  decision: undefined,
  text: undefined,
  attestation: undefined,
  verifiedBy: undefined,
  checkpoint: undefined,
  fault,
  isTransient: false,
  workspace: undefined,
});
