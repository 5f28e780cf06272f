import { randomBytes } from 'node:crypto';
import { envelopeOfHeader } from '@countersign/core/domain/attestation';
import { isRetryable } from '../http/retry-pace.ts';
import { harnessIdOf } from '../importers/harness-id.ts';
import { type Countersign, CountersignError, type PromotionDecision, receiptOf } from '../index.ts';
import { type GateRequest, onlyApprovalMissing, rejectionReason } from './check-decision.ts';
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
import { askForSuccessors, type PublishedKeyResult, type TrustFileInput } from './trust-file-input.ts';
import {
  checkSignature,
  hasKeys,
  readTrustSettings,
  requireWorkspace,
  TRUST,
  type TrustSettings,
  withTrustFile,
  workspaceFault,
} from './trust-settings.ts';
import { waitForApproval } from './wait-for-approval.ts';

const OPTIONS = {
  agent: { type: 'string', value: 'NAME', help: 'name of the agent to promote' },
  'agent-id': { type: 'string', value: 'UUID', help: 'its ID, instead of the name or together with it' },
  'min-pass-rate': { type: 'string', value: 'PERCENT', help: 'the required pass rate (80)' },
  'max-age-hours': { type: 'string', value: 'HOURS', help: 'the maximum age of the evaluation (72)' },
  harness: { type: 'string', value: 'NAME', help: 'use only evaluations of this harness (name or UUID)' },
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'instead of --trust: a file with the decision key, or with the public key (verifier key or JWKS) and --workspace; env:NAME reads a variable',
  },
  'require-verify-key': { type: 'boolean', help: 'fail if neither a trust file nor a key is given' },
  'clock-skew': {
    type: 'string',
    value: 'TIME',
    help: 'the tolerated clock difference of the two machines (60s); at most 5m',
  },
  wait: {
    type: 'string',
    value: 'TIME',
    help: 'keep asking for this long while only an approval is missing or the service cannot be reached',
  },
  'portal-url': {
    type: 'string',
    value: 'ADDRESS',
    help: 'the portal for approval links (COUNTERSIGN_PORTAL_URL, or --url)',
  },
  output: { type: 'string', value: 'FILE', help: 'write the signed decision to this file, byte for byte as received' },
  attestation: {
    type: 'string',
    value: 'FILE',
    help: 'write its attestation (DSSE) to this file; anyone can verify it later with the public key',
  },
  junit: { type: 'string', value: 'FILE', help: 'write the conditions to this file as JUnit XML, for GitLab' },
  ...CONNECTION,
} as const satisfies Options;

/** `gate`: checks whether an agent may be promoted. */
export const gate = command({
  name: 'gate',
  summary: 'Check whether an agent may be promoted; exits with 0 only if it may.',
  options: OPTIONS,
  examples: [
    'countersign gate --agent support-bot --min-pass-rate 90 --max-age-hours 24',
    'countersign gate --agent support-bot --trust trust.json --wait 30m --output decision.json',
    'countersign gate --agent support-bot --trust trust.json --attestation attestation.json',
  ],
  notes: `The gate accepts a decision only if it matches this agent, threshold, age and time, repeats the nonce of this request,
and is consistent. With --trust it must also be of that workspace and signed by one of the public keys. The trust file
holds no secret: export it once (countersign-server trust show --workspace NAME > trust.json) and keep it in the repository.`,
  async run(session, values) {
    const request = readGateRequest(values);
    const trusted = readTrustSettings(session, values);
    requireWorkspace(trusted);
    if (!hasKeys(trusted) && values['require-verify-key'] === true)
      throw wrongUse(
        '--require-verify-key: no key was given; give --trust, COUNTERSIGN_TRUST_FILE, --verify-key, COUNTERSIGN_VERIFY_KEY or COUNTERSIGN_VERIFY_KEY_FILE',
      );
    const skewMs = readSkew(values['clock-skew'] ?? '60s');
    const waitMs = values.wait === undefined ? 0 : readDuration('--wait', values.wait, 0);
    const portalUrl = values['portal-url'] ?? session.variable('COUNTERSIGN_PORTAL_URL') ?? session.address(values);
    // Checked before the request, because an allowed decision may use up an approval.
    for (const path of [values.output, values.attestation, values.junit]) if (path !== undefined) checkWritable(path);
    const client = await session.client(values);
    const requirements = { request, trusted, skewMs, wantsAttestation: values.attestation !== undefined };
    const follow = (file: TrustFileInput) => askForSuccessors(session, session.address(values), file);
    const ask = () => askOnce(session, client, requirements, follow);
    const finding = await waitForApproval(session, ask, { waitMs, portalUrl });
    const { output, attestation, junit } = values;
    gateReport(session, finding, { request, portalUrl, output, attestation, junit });
    return finding.ending;
  },
});

/** A larger tolerance would accept old decisions from servers that do not sign the nonce. */
const SKEW_MS_MAX = 5 * 60_000;

function readSkew(text: string): number {
  const skewMs = readDuration('--clock-skew', text);
  if (skewMs <= SKEW_MS_MAX) return skewMs;
  throw wrongUse(`--clock-skew takes at most 5m; got ${text}. Correct the clocks instead (countersign doctor compares them)`);
}

/**
 * Checks a rejected signature again with the successors of the keys in the trust file. If that fails too, the finding explains
 * what is wrong with the trust file.
 */
async function findingWithSuccessors(
  finding: Finding,
  requirements: GateRequirements,
  findingBy: (requirements: GateRequirements) => Finding,
  follow: FollowSuccessors,
): Promise<Finding> {
  const { trusted } = requirements;
  if (!finding.fault?.startsWith(UNSIGNED) || trusted.trustFile === undefined) return finding;
  const news = await follow(trusted.trustFile);
  const again =
    news.followed === undefined ? finding : findingBy({ ...requirements, trusted: withTrustFile(trusted, news.followed) });
  if (!again.fault?.startsWith(UNSIGNED) || news.problem === undefined) return again;
  return { ...again, fault: `${again.fault}; ${shortLine(news.problem, 800)}` };
}

type FollowSuccessors = (file: TrustFileInput) => Promise<PublishedKeyResult>;

const UNSIGNED = 'the signature was rejected';

function readGateRequest(values: Partial<Record<keyof typeof OPTIONS, unknown>>): GateRequest {
  const text = (name: keyof typeof OPTIONS) => values[name] as string | undefined;
  const [name, id, harness] = [text('agent'), text('agent-id'), text('harness')];
  if (name === undefined && id === undefined) throw wrongUse('no agent given: add --agent NAME or --agent-id UUID');
  return {
    agentName: name === undefined ? undefined : readLabel('--agent', name),
    agentId: id === undefined ? undefined : readUuid('--agent-id', id),
    harnessId: harness === undefined ? undefined : harnessIdOf(readLabel('--harness', harness)),
    minPassRate: readPercentage('--min-pass-rate', text('min-pass-rate') ?? '80'),
    maxAgeHours: readWhole('--max-age-hours', text('max-age-hours') ?? '72', 1, 8760),
  };
}

/** The request, and what the response must satisfy. */
interface GateRequirements {
  request: GateRequest;
  trusted: TrustSettings;
  skewMs: number;
  /** Whether the attestation is written to a file. */
  wantsAttestation: boolean;
}

/** Asks once. Every failure becomes an undecided finding. */
async function askOnce(
  session: Session,
  client: Countersign,
  requirements: GateRequirements,
  follow: FollowSuccessors,
): Promise<Finding> {
  const { request, trusted, wantsAttestation, skewMs } = requirements;
  const nonce = randomBytes(24).toString('base64url');
  let sentAt = session.terminal.now();
  try {
    const decision = await client.governance.checkPromotion(
      {
        ...agentOf(request),
        ...(request.harnessId === undefined ? {} : { harness_id: request.harnessId }),
        min_pass_rate: request.minPassRate,
        max_age_hours: request.maxAgeHours,
      },
      { attestation: wantsAttestation || trusted.publicKeys.length > 0, nonce },
    );
    const receivedAt = session.terminal.now();
    // If the clock was set back meanwhile, the order of the two is unknown.
    sentAt = Math.min(sentAt, receivedAt);
    const findingBy = (by: GateRequirements) => findingOf(decision, by, { sentAt, receivedAt, skewMs, nonce });
    return await findingWithSuccessors(findingBy(requirements), requirements, findingBy, follow);
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { ...undecided(shortLine(error.message, 1000)), isTransient: isRetryable(error) };
  }
}

/** The agent in the request: by its ID, its name, or both. */
function agentOf({ agentName, agentId }: GateRequest): { agent_name: string; agent_id?: string } | { agent_id: string } {
  if (agentName === undefined) return { agent_id: agentId! };
  return agentId === undefined ? { agent_name: agentName } : { agent_name: agentName, agent_id: agentId };
}

function findingOf(
  decision: PromotionDecision,
  { request, trusted, wantsAttestation }: GateRequirements,
  moment: Parameters<typeof rejectionReason>[3],
): Finding {
  const { text, headers } = receiptOf(decision)!;
  const fault = rejectionReason(decision, text, request, moment);
  if (fault !== undefined) return undecided(`the response was rejected: ${fault}`);
  const trust = hasKeys(trusted) ? checkSignature(text, headers['countersign-attestation'], trusted) : undefined;
  if (trust !== undefined && 'fault' in trust) return undecided(`${UNSIGNED}: ${trust.fault}`);
  const otherWorkspace = workspaceFault(decision, trusted);
  if (otherWorkspace !== undefined) return undecided(`${otherWorkspace}; COUNTERSIGN_API_KEY must be a key of that workspace`);
  const header = headers['countersign-attestation'];
  const attestation = wantsAttestation && header !== undefined ? envelopeOfHeader(decision, header) : undefined;
  if (wantsAttestation && attestation === undefined)
    return undecided('the response has no attestation (Countersign-Attestation), which --attestation needs');
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

/** The workspace that decided (`Countersign-Workspace`). It becomes part of a link, so only a UUID is accepted. */
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
