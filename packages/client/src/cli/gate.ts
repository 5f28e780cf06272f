import { harnessIdOf } from '../importers/harness-id.ts';
import type { GateRequest } from './check-decision.ts';
import { command } from './command.ts';
import { wrongUse } from './exit-codes.ts';
import { prepareFile } from './files.ts';
import { reportFinding } from './gate-report.ts';
import { readDuration, readLabel, readPercentage, readUuid, readWholeNumber } from './option-values.ts';
import { CONNECTION, type Options } from './options.ts';
import { requireDifferentFiles } from './output-files.ts';
import { requestDecision } from './request-decision.ts';
import { askForSuccessors, type TrustFileInput } from './trust-file-input.ts';
import { hasKeys, readTrustSettings, requireWorkspace, TRUST } from './trust-settings.ts';
import { waitForApproval } from './wait-for-approval.ts';

const OPTIONS = {
  agent: { type: 'string', value: 'NAME', help: 'name of the agent to promote' },
  'agent-id': { type: 'string', value: 'UUID', help: 'ID of the agent, instead of the name or together with it' },
  'min-pass-rate': { type: 'string', value: 'PERCENT', help: 'the required pass rate (default: 80)' },
  'max-age-hours': { type: 'string', value: 'HOURS', help: 'the maximum age of the evaluation (default: 72)' },
  harness: { type: 'string', value: 'NAME', help: 'use only evaluations of this harness (name or UUID)' },
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help:
      'instead of --trust: a file with the decision key; or, with --workspace, ' +
      'a file with the public key (verifier key or JWKS); env:NAME reads a variable',
  },
  'require-verify-key': { type: 'boolean', help: 'fail if neither a trust file nor a key is given' },
  'clock-skew': {
    type: 'string',
    value: 'TIME',
    help: 'the tolerated clock difference between this machine and the service, at most 5m (default: 60s)',
  },
  wait: {
    type: 'string',
    value: 'TIME',
    help:
      'repeat the request for up to this time while only an approval is missing ' +
      'or the service is unavailable; the last request may take --timeout longer',
  },
  'portal-url': {
    type: 'string',
    value: 'ADDRESS',
    help: 'the portal for approval links (default: COUNTERSIGN_PORTAL_URL, or else the address of the service)',
  },
  output: { type: 'string', value: 'FILE', help: 'write the signed decision to this file, byte for byte as received' },
  attestation: {
    type: 'string',
    value: 'FILE',
    help: 'write the attestation (DSSE) of the decision to this file; anyone can verify it later with the public key',
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
  notes: `The gate accepts a decision only if it is consistent, matches this agent, threshold, maximum age, harness and time, and
repeats the nonce of this request. With --trust, the decision must also be of the workspace in the trust file, and signed with
a key of the file or with a proven successor of that key. No other key counts. Without --trust, a decision key counts only if
no public key is given.
The trust file contains no secret: create it (countersign-server trust show --workspace NAME > trust.json) and keep it in the
repository.
Before the request, the gate removes older files of --output, --attestation and --junit.`,
  async run(session, values) {
    const request = readGateRequest(values);
    const { output, attestation, junit } = values;
    requireDifferentFiles(session, { '--output': output, '--attestation': attestation, '--junit': junit }, values);
    const trustSettings = readTrustSettings(session, values);
    requireWorkspace(trustSettings);
    if (!hasKeys(trustSettings) && values['require-verify-key'] === true)
      throw wrongUse(
        '--require-verify-key: no key was given; give --trust, COUNTERSIGN_TRUST_FILE, ' +
          'COUNTERSIGN_TRUST, --verify-key, COUNTERSIGN_VERIFY_KEY or COUNTERSIGN_VERIFY_KEY_FILE',
      );
    const skewMs = readSkew(values['clock-skew'] ?? '60s');
    const waitMs = values.wait === undefined ? 0 : readDuration('--wait', values.wait, 0);
    const portalUrl = values['portal-url'] ?? session.variable('COUNTERSIGN_PORTAL_URL') ?? session.address(values);
    // The files are prepared before the request. Otherwise a decision that cannot be written would be lost, although it may have used an
    // approval, which can then no longer be withdrawn.
    for (const path of [output, attestation, junit]) if (path !== undefined) prepareFile(path);
    const client = await session.client(values);
    const requirements = { request, trustSettings, skewMs, wantsAttestation: attestation !== undefined };
    const requestSuccessors = (file: TrustFileInput) => askForSuccessors(session, session.address(values), file);
    const requestOnce = () => requestDecision(session, client, requirements, requestSuccessors);
    const finding = await waitForApproval(session, requestOnce, { waitMs, portalUrl });
    reportFinding(session, finding, { request, portalUrl, output, attestation, junit });
    return finding.ending;
  },
});

/** The largest --clock-skew. The service computes ages of evaluations by its own clock, so a larger difference could make them wrong. */
const SKEW_MS_MAX = 5 * 60_000;

function readSkew(text: string): number {
  const skewMs = readDuration('--clock-skew', text);
  if (skewMs <= SKEW_MS_MAX) return skewMs;
  throw wrongUse(`--clock-skew takes at most 5m; got ${text}. Correct the clocks instead (countersign doctor compares them)`);
}

function readGateRequest(values: Partial<Record<keyof typeof OPTIONS, unknown>>): GateRequest {
  const text = (name: keyof typeof OPTIONS) => values[name] as string | undefined;
  const [name, id, harness] = [text('agent'), text('agent-id'), text('harness')];
  if (name === undefined && id === undefined) throw wrongUse('no agent given: add --agent NAME or --agent-id UUID');
  return {
    agentName: name === undefined ? undefined : readLabel('--agent', name),
    agentId: id === undefined ? undefined : readUuid('--agent-id', id),
    harnessId: harness === undefined ? undefined : harnessIdOf(readLabel('--harness', harness)),
    minPassRate: readPercentage('--min-pass-rate', text('min-pass-rate') ?? '80'),
    maxAgeHours: readWholeNumber('--max-age-hours', text('max-age-hours') ?? '72', 1, 8760),
  };
}
