import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { digests } from '../../src/crypto/digests.ts';
import { evidenceStates } from '../../src/ledger/evidence-states.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { setEvaluationTime } from '../harness/evaluation-time.ts';
import { runVerifier } from '../harness/independent-verifier.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const HARNESS = 'c2a9e1f4-5d60-4b37-8e12-9f7a0d3c6b58';
const folder = mkdtempSync(join(tmpdir(), 'countersign-replay-'));
const [decisions, evidence] = [join(folder, 'decisions.ndjson'), join(folder, 'evidence.ndjson')];

let server: TestServer;
let key: string;

const operate = async (...args: string[]) =>
  expect(await runCommand(environmentOf(server), ...args, '--workspace', 'acme')).toMatchObject({ status: 0 });
const evaluate = async (agent: string, more: object = {}) =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 90, ...more })).body.id as string;
const checkPromotion = async (request: object) => (await server.post(paths.promotionCheck, key, request)).body;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  key = await server.key(await server.workspace('acme'));
  await evaluate('old');
  await setEvaluationTime(server, 'old', `now() - interval '5 days'`);
  const reasons = [(await checkPromotion({ agent_name: 'nobody' })).reason, (await checkPromotion({ agent_name: 'old' })).reason];
  expect(await checkPromotion({ agent_name: 'old', max_age_hours: 168 })).toMatchObject({ allowed: true });
  const id = await evaluate('bot', { harness_id: HARNESS });
  reasons.push(
    (await checkPromotion({ agent_name: 'bot' })).reason,
    (await checkPromotion({ agent_name: 'bot', min_pass_rate: 95 })).reason,
  );
  await operate('agents', 'risk', '--agent', 'bot', 'high');
  reasons.push((await checkPromotion({ agent_name: 'bot' })).reason);
  await operate('approvals', 'approve', '--evaluation', id, '--rationale', 'read');
  reasons.push((await checkPromotion({ agent_name: 'bot', harness_id: HARNESS })).reason);
  await evaluate('bot', { status: 'failing', pass_rate: 10 });
  reasons.push(
    (await checkPromotion({ agent_name: 'bot' })).reason,
    (await checkPromotion({ agent_name: 'bot', harness_id: HARNESS })).reason,
  );
  reasons.push((await checkPromotion({ agent_name: 'old', harness_id: HARNESS })).reason);
  expect(reasons).toEqual([
    'no_recent_evaluation',
    'no_recent_evaluation',
    'all_conditions_met',
    'pass_rate_below_threshold',
    'approval_required',
    'all_conditions_met',
    'evaluation_not_passing',
    'all_conditions_met',
    'no_recent_evaluation',
  ]);
  await operate('ledger', 'export', '--log', 'decisions', '--output', decisions);
  await operate('ledger', 'export', '--log', 'evidence', '--output', evidence);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Exit code and output of the server's command and of the Python verifier. */
const replayWithBoth = async (events: string, decisionsFile = decisions): Promise<[number | null, string][]> => {
  const options = ['--file', decisionsFile, '--log', 'decisions', '--replay', events];
  const commandResult = await runCommand({}, 'ledger', 'verify', ...options);
  const verifierResult = await runVerifier(['decisions', decisionsFile, '--replay', events]);
  return [
    [commandResult.status, commandResult.out],
    [verifierResult.status, verifierResult.out],
  ];
};

test('every decision of the server follows from the exported evidence log', async () => {
  for (const verdict of await replayWithBoth(evidence)) expect(verdict).toEqual([0, expect.stringMatching(/^valid: 10 /)]);
});

test('both verifiers name the decision that does not follow from the evidence log after an event of the log was changed', async () => {
  const text = readFileSync(evidence, 'utf8');
  expect(text).toContain('"status":"approved"');
  const changed = join(folder, 'changed.ndjson');
  writeFileSync(changed, text.replace('"status":"approved"', '"status":"rejected"'));
  const reason = /^broken at .*seq 7\)?: allowed does not follow from/;
  for (const verdict of await replayWithBoth(changed)) expect(verdict).toEqual([1, expect.stringMatching(reason)]);
  writeFileSync(changed, text.replace('"pass_rate":10,', '"pass_rate":100,').replace('"status":"failing"', '"status":"passing"'));
  for (const verdict of await replayWithBoth(changed))
    expect(verdict).toEqual([1, expect.stringMatching(/^broken at .*seq 8\)?: /)]);
});

test('both verifiers compute a decision again with the harness and the age limit that the decision states', async () => {
  const lines = readFileSync(decisions, 'utf8').trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as { seq: number; decision: Record<string, unknown> });
  const changed = join(folder, 'changed-decisions.ndjson');
  const replayChanged = (seq: number, members: object) => {
    const text = rows.map((row) => {
      const { response_sha256: _, ...decision } = { ...row.decision, ...(row.seq === seq ? members : {}) };
      return JSON.stringify({ seq: row.seq, decision: { ...decision, response_sha256: decisionDigest(decision, digests) } });
    });
    writeFileSync(changed, `${text.join('\n')}\n`);
    return replayWithBoth(evidence, changed);
  };
  expect(rows.map(({ decision }) => [decision.harness_id, decision.max_age_hours])).toContainEqual([HARNESS, 72]);
  for (const verdict of await replayChanged(1, {})) expect(verdict).toEqual([0, expect.stringMatching(/^valid: 10 /)]);
  // The second decision is blocked at 72 hours, the third one is allowed at 168 hours. The ninth one uses the harness.
  for (const [seq, members] of [
    [2, { max_age_hours: 168 }],
    [3, { max_age_hours: 72 }],
    [9, { harness_id: null }],
  ] as const)
    for (const verdict of await replayChanged(seq, members))
      expect(verdict).toEqual([1, expect.stringMatching(new RegExp(`^broken at .*(seq ${seq}\\)?): `))]);
});

test('both verifiers exit with 2 for an unreadable export, and the command also for --replay with a log other than decisions', async () => {
  const missing = join(folder, 'missing.ndjson');
  const [commandResult, verifierResult] = await replayWithBoth(missing);
  expect([commandResult![0], verifierResult![0]]).toEqual([2, 2]);
  const misuse = ['ledger', 'verify', '--file', evidence, '--log', 'evidence', '--replay', evidence];
  expect(await runCommand({}, ...misuse)).toMatchObject({
    status: 2,
    err: expect.stringContaining('--replay works only with --log decisions'),
  });
});

test('the command exits with 2 for an export of another log as --replay or --audit, because the decisions may be intact', async () => {
  for (const option of ['--replay', '--audit']) {
    const options = ['--file', decisions, '--log', 'decisions', option, decisions];
    expect(await runCommand({}, 'ledger', 'verify', ...options)).toMatchObject({
      status: 2,
      err: expect.stringContaining(`${option} must be the export of the`),
    });
  }
});

test('both verifiers accept a decision that uses an evaluation recorded after the logs were locked', async () => {
  const busyKey = await server.key(await server.workspace('busy'));
  const record = () => server.post(paths.evaluations, busyKey, { name: 'nightly', agent_name: 'bot', pass_rate: 90 });
  await record();
  const read = evidenceStates.read.bind(evidenceStates);
  vi.spyOn(evidenceStates, 'read').mockImplementationOnce(async (...args) => {
    await sleep(20);
    await record();
    return read(...args);
  });
  const { body } = await server.post(paths.promotionCheck, busyKey, { agent_name: 'bot' });
  expect(body).toMatchObject({ allowed: true, evidence_size: 3 });
  expect(body.timestamp >= body.evaluation.recorded_at).toBe(true);
  const files = { decisions: join(folder, 'busy-decisions.ndjson'), evidence: join(folder, 'busy-evidence.ndjson') };
  for (const [log, file] of Object.entries(files))
    await runCommand(environmentOf(server), 'ledger', 'export', '--workspace', 'busy', '--log', log, '--output', file);
  for (const verdict of await replayWithBoth(files.evidence, files.decisions))
    expect(verdict).toEqual([0, expect.stringMatching(/^valid: 1 /)]);
});
