import { randomBytes } from 'node:crypto';
import { envelopeOfHeader } from '@countersign/core/domain/attestation';
import { isRetryable } from '../http/retry-pace.ts';
import { harnessIdOf } from '../importers/harness-id.ts';
import { type Countersign, CountersignError, type PromotionDecision, receiptOf } from '../index.ts';
import { type Asked, disbelief, onlyApprovalMissing } from './believe-decision.ts';
import { command } from './command.ts';
import type { Ending } from './exit-codes.ts';
import { wrongUse } from './exit-codes.ts';
import { checkWritable } from './files.ts';
import type { Finding } from './gate-finding.ts';
import { gateReport } from './gate-report.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import { readDuration, readLabel, readPercentage, readUuid, readWhole } from './readings.ts';
import type { Session } from './session.ts';
import { askForSuccessors, type PublishedNews, type TrustGiven } from './trust-given.ts';
import {
  checkSignature,
  hasKeys,
  readTrusted,
  requireWorkspace,
  TRUST,
  type Trusted,
  withTrustFile,
  workspaceFault,
} from './trusted.ts';
import { waitForApproval } from './wait-for-approval.ts';

const OPTIONS = {
  agent: { type: 'string', value: 'NAME', help: 'name of the agent that is to be promoted' },
  'agent-id': { type: 'string', value: 'UUID', help: 'its id, instead of the name or besides it' },
  'min-pass-rate': { type: 'string', value: 'PERCENT', help: 'the pass rate required (80)' },
  'max-age-hours': { type: 'string', value: 'HOURS', help: 'how old the evaluation may be (72)' },
  harness: { type: 'string', value: 'NAME', help: 'look at the last evaluation of this harness alone: its name or its UUID' },
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'instead: a file of the decision key; or of the public key (verifier key, JWKS), together with --workspace; env:NAME for a variable',
  },
  'require-verify-key': { type: 'boolean', help: 'refuse to run without a trust file or a key to verify with' },
  'clock-skew': {
    type: 'string',
    value: 'TIME',
    help: 'how far the clocks of the two machines may be apart (60s); at most 5m',
  },
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
    'countersign gate --agent support-bot --trust trust.json --wait 30m --output decision.json',
    'countersign gate --agent support-bot --trust trust.json --attestation attestation.json',
  ],
  notes: `A decision is believed only if it is about this agent, threshold, age and moment, repeats the nonce of this request, and agrees with itself.
With --trust it must also be of that workspace and signed by one of the public keys. The trust file holds no secret: fetch it once
(countersign-server trust show --workspace NAME > trust.json) and keep it in the repository.`,
  async run(session, values) {
    const asked = readAsked(values);
    const trusted = readTrusted(session, values);
    requireWorkspace(trusted);
    if (!hasKeys(trusted) && values['require-verify-key'] === true)
      throw wrongUse(
        '--require-verify-key: no key was given; give --trust, COUNTERSIGN_TRUST_FILE, --verify-key, COUNTERSIGN_VERIFY_KEY or COUNTERSIGN_VERIFY_KEY_FILE',
      );
    const skewMs = readSkew(values['clock-skew'] ?? '60s');
    const waitMs = values.wait === undefined ? 0 : readDuration('--wait', values.wait, 0);
    const portalUrl = values['portal-url'] ?? session.variable('COUNTERSIGN_PORTAL_URL') ?? session.address(values);
    // Before anything is asked: an allowed decision may use an approval up.
    for (const path of [values.output, values.attestation, values.junit]) if (path !== undefined) checkWritable(path);
    const client = await session.client(values);
    const demand = { asked, trusted, skewMs, attested: values.attestation !== undefined };
    const follow = (file: TrustGiven) => askForSuccessors(session, session.address(values), file);
    const ask = () => askOnce(session, client, demand, follow);
    const finding = await waitForApproval(session, ask, { waitMs, portalUrl });
    const { output, attestation, junit } = values;
    gateReport(session, finding, { asked, portalUrl, output, attestation, junit });
    return finding.ending;
  },
});

/** A larger allowance would let an old decision pass where the nonce is not signed for; clocks that far apart need mending. */
const SKEW_MS_MAX = 5 * 60_000;

function readSkew(text: string): number {
  const skewMs = readDuration('--clock-skew', text);
  if (skewMs <= SKEW_MS_MAX) return skewMs;
  throw wrongUse(
    `--clock-skew takes at most 5m; got ${text}. Set the clocks of the two machines instead (countersign doctor compares them)`,
  );
}

/**
 * A finding whose signature was refused, judged again by keys that those of the trust file have signed for. Where that does not help, it says
 * what is wrong with the trust file if the service's own list of keys shows it.
 */
async function followed(finding: Finding, demand: Demand, judge: (demand: Demand) => Finding, follow: Follow): Promise<Finding> {
  const { trusted } = demand;
  if (!finding.fault?.startsWith(UNSIGNED) || trusted.trustFile === undefined) return finding;
  const news = await follow(trusted.trustFile);
  const again = news.followed === undefined ? finding : judge({ ...demand, trusted: withTrustFile(trusted, news.followed) });
  if (!again.fault?.startsWith(UNSIGNED) || news.problem === undefined) return again;
  return { ...again, fault: `${again.fault}; ${shortLine(news.problem, 800)}` };
}

type Follow = (file: TrustGiven) => Promise<PublishedNews>;

const UNSIGNED = 'the signature is not believed';

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
  trusted: Trusted;
  skewMs: number;
  /** Whether the attestation is to be kept. */
  attested: boolean;
}

/** Asks once. Whatever happens becomes a finding: nothing but a decision that is believed allows. */
async function askOnce(session: Session, client: Countersign, demand: Demand, follow: Follow): Promise<Finding> {
  const { asked, trusted, attested, skewMs } = demand;
  const nonce = randomBytes(24).toString('base64url');
  let sentAt = session.terminal.now();
  try {
    const decision = await client.governance.checkPromotion(
      {
        ...agentOf(asked),
        ...(asked.harnessId === undefined ? {} : { harness_id: asked.harnessId }),
        min_pass_rate: asked.minPassRate,
        max_age_hours: asked.maxAgeHours,
      },
      { attestation: attested || trusted.publicKeys.length > 0, nonce },
    );
    const receivedAt = session.terminal.now();
    // A clock that was set back meanwhile says nothing of the order of the two.
    sentAt = Math.min(sentAt, receivedAt);
    const judge = (by: Demand) => judged(decision, by, { sentAt, receivedAt, skewMs, nonce });
    return await followed(judge(demand), demand, judge, follow);
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
  const trust = hasKeys(trusted) ? checkSignature(text, headers['countersign-attestation'], trusted) : undefined;
  if (trust !== undefined && 'fault' in trust) return undecided(`${UNSIGNED}: ${trust.fault}`);
  const foreign = workspaceFault(decision, trusted);
  if (foreign !== undefined) return undecided(`${foreign}; COUNTERSIGN_API_KEY must be a key of that workspace`);
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
