import { randomBytes } from 'node:crypto';
import { envelopeOfHeader } from '@countersign/core/domain/attestation';
import { isRetryable } from '../http/retry-pace.ts';
import { type Countersign, CountersignError, type PromotionDecision, receiptOf } from '../index.ts';
import { type GateRequest, onlyApprovalMissing, rejectionReason } from './check-decision.ts';
import type { Ending } from './exit-codes.ts';
import type { Finding } from './gate-finding.ts';
import { shortLine } from './plain-text.ts';
import type { Session } from './session.ts';
import type { PublishedKeyResult, TrustFileInput } from './trust-file-input.ts';
import { checkSignature, hasKeys, type TrustSettings, withTrustFile, workspaceFault } from './trust-settings.ts';

const SIGNATURE_REJECTED = 'the signature was rejected';

/** Asks the service for the successors of the keys in a trust file. */
type RequestSuccessors = (file: TrustFileInput) => Promise<PublishedKeyResult>;

/** The request, and what the response must satisfy. */
export interface GateRequirements {
  request: GateRequest;
  trustSettings: TrustSettings;
  skewMs: number;
  /** Whether the attestation is written to a file. */
  wantsAttestation: boolean;
}

/** Requests one decision, with the retries of the client. If the request fails or its response is rejected, the finding is undecided. */
export async function requestDecision(
  session: Session,
  client: Countersign,
  requirements: GateRequirements,
  requestSuccessors: RequestSuccessors,
): Promise<Finding> {
  const { request, trustSettings, wantsAttestation, skewMs } = requirements;
  let [nonce, sentAt] = ['', 0];
  // Each attempt has its own nonce and time. Otherwise a proxy could hold back the response to one attempt, and replay it later.
  const startAttempt = () => {
    sentAt = session.terminal.now();
    nonce = randomBytes(24).toString('base64url');
    return nonce;
  };
  try {
    const decision = await client.governance.checkPromotion(
      {
        ...agentOf(request),
        ...(request.harnessId === undefined ? {} : { harness_id: request.harnessId }),
        min_pass_rate: request.minPassRate,
        max_age_hours: request.maxAgeHours,
      },
      { attestation: wantsAttestation || trustSettings.publicKeys.length > 0, nonce: startAttempt },
    );
    const receivedAt = session.terminal.now();
    // If the clock was set back during the request, receivedAt is before sentAt.
    sentAt = Math.min(sentAt, receivedAt);
    const checkAgainst = (required: GateRequirements) => findingOf(decision, required, { sentAt, receivedAt, skewMs, nonce });
    return await findingWithSuccessors(checkAgainst(requirements), requirements, checkAgainst, requestSuccessors);
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { ...undecided(shortLine(error.message, 1000)), isTransient: isRetryable(error) };
  }
}

/**
 * Checks a rejected signature again with the successors of the keys in the trust file. If the signature is rejected again and the
 * published keys show what is wrong with the trust file, the finding explains this.
 */
async function findingWithSuccessors(
  finding: Finding,
  requirements: GateRequirements,
  checkAgainst: (requirements: GateRequirements) => Finding,
  requestSuccessors: RequestSuccessors,
): Promise<Finding> {
  const { trustSettings } = requirements;
  if (!finding.fault?.startsWith(SIGNATURE_REJECTED) || trustSettings.trustFile === undefined) return finding;
  const publishedResult = await requestSuccessors(trustSettings.trustFile);
  const secondFinding =
    publishedResult.trustFile === undefined
      ? finding
      : reportSuccessor(
          checkAgainst({ ...requirements, trustSettings: withTrustFile(trustSettings, publishedResult.trustFile) }),
        );
  if (!secondFinding.fault?.startsWith(SIGNATURE_REJECTED) || publishedResult.problem === undefined) return secondFinding;
  return { ...secondFinding, fault: `${secondFinding.fault}; ${shortLine(publishedResult.problem, 800)}` };
}

/** Adds to an accepted finding that the trust file lacks the key. Without the service, this file cannot verify the attestation. */
const reportSuccessor = (finding: Finding): Finding =>
  finding.verifiedBy === undefined
    ? finding
    : { ...finding, verifiedBy: 'a successor of the keys in the trust file; renew the file (countersign-server trust show)' };

/** The agent in the request: by its ID, its name, or both. */
function agentOf({ agentName, agentId }: GateRequest): { agent_name: string; agent_id?: string } | { agent_id: string } {
  if (agentName === undefined) return { agent_id: agentId! };
  return agentId === undefined ? { agent_name: agentName } : { agent_name: agentName, agent_id: agentId };
}

function findingOf(
  decision: PromotionDecision,
  { request, trustSettings, wantsAttestation }: GateRequirements,
  timing: Parameters<typeof rejectionReason>[3],
): Finding {
  const { text, headers } = receiptOf(decision)!;
  const fault = rejectionReason(decision, text, request, timing);
  if (fault !== undefined) return undecided(`the response was rejected: ${fault}`);
  const trust = hasKeys(trustSettings) ? checkSignature(text, headers['countersign-attestation'], trustSettings) : undefined;
  if (trust !== undefined && 'fault' in trust) return undecided(`${SIGNATURE_REJECTED}: ${trust.fault}`);
  const otherWorkspace = workspaceFault(decision, trustSettings);
  if (otherWorkspace !== undefined)
    return undecided(
      decision.tenant_id === undefined
        ? otherWorkspace
        : `${otherWorkspace}; COUNTERSIGN_API_KEY must be a key of workspace ${trustSettings.workspace}`,
    );
  const header = headers['countersign-attestation'];
  const attestation = wantsAttestation && header !== undefined ? envelopeOfHeader(decision, header) : undefined;
  if (wantsAttestation && attestation === undefined)
    return undecided(
      'the response has no valid attestation (header Countersign-Attestation), so the file of --attestation cannot be written',
    );
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

/** The workspace of the decision (`Countersign-Workspace`). It becomes part of a link, so only a UUID is accepted. */
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
