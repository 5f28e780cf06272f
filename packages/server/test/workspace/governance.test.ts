import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import { setRiskLevel } from '../../src/workspace/agent-risk.ts';
import { closeRecertifications } from '../../src/workspace/close-recertifications.ts';
import { createWorkspace } from '../../src/workspace/create-workspace.ts';
import { decideEvaluation } from '../../src/workspace/decide-evaluation.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { openIncident } from '../../src/workspace/open-incident.ts';
import { RuleViolationError } from '../../src/workspace/rule-violation.ts';
import { InvalidInputError } from '../../src/workspace/wrong-input.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

/** Records an evaluation of an agent and returns the ID of the evaluation. */
async function evaluate(agent: string, body: object = {}): Promise<string> {
  const evaluation = { name: 'nightly', agent_name: agent, pass_rate: 95, ...body };
  return (await server.post(paths.evaluations, key, evaluation)).body.id;
}

const checkPromotion = async (agent: string) => (await server.post(paths.promotionCheck, key, { agent_name: agent })).body;
const setRisk = (agent: string, level: 'high' | 'low') => setRiskLevel(server.open.pool, tenantId, { agent, level }, 'operator');
const decide = (evaluationId: string, status: 'approved' | 'rejected', rationale = 'looked at it') =>
  decideEvaluation(server.open.pool, tenantId, { evaluationId, status, rationale }, 'operator');
const openIncidentFor = (agent: string, members: { recertify?: boolean; description?: string } = {}) =>
  openIncident(
    server.open.pool,
    tenantId,
    { agent, severity: 'high', description: 'it lied', recertify: true, ...members },
    'operator',
  );
const close = (agent: string, rationale = 'trained anew') =>
  closeRecertifications(server.open.pool, tenantId, { agent, rationale }, 'operator');

/** The hashed documents of the ledger's entries about one agent, in order. */
async function entriesOf(agent: string): Promise<Record<string, unknown>[]> {
  const rows = await server.database.sql<{ document: string }>(
    'SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq',
    [tenantId],
  );
  return rows.map(({ document }) => JSON.parse(document)).filter(({ subject }) => subject === agent);
}

/** The number of rows in each table of governance acts. */
async function rowCounts(): Promise<unknown> {
  const countOf = (table: string) => `(SELECT count(*) FROM countersign.${table})`;
  const tables = ['audit_entries', 'approvals', 'incidents', 'recertifications'];
  return server.database.sql(`SELECT ${tables.map((table) => `${countOf(table)} AS ${table}`).join(', ')}`);
}

async function expectRefusedAndUnchanged(
  act: () => Promise<unknown>,
  message: RegExp,
  errorClass: typeof RuleViolationError | typeof InvalidInputError = RuleViolationError,
) {
  const before = await rowCounts();
  const error = await act().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(errorClass);
  expect((error as Error).message).toMatch(message);
  expect(await rowCounts()).toEqual(before);
}

describe('risk level', () => {
  test('is set with a ledger entry that names the operator or the person; an unchanged level adds no entry', async () => {
    await evaluate('risky');
    expect(await setRisk('risky', 'high')).toBe(true);
    expect(await setRisk('risky', 'high')).toBe(false);
    const { id: personId } = await createPerson(server, { [tenantId]: 'approver' });
    const actor = { personId, role: 'approver' } as const;
    expect(await setRiskLevel(server.open.pool, tenantId, { agent: 'risky', level: 'low' }, actor)).toBe(true);
    const entries = await entriesOf('risky');
    expect(entries.map(({ action, recorded_by, actor }) => [action, recorded_by, actor])).toEqual([
      ['agent.high_risk', 'operator', 'operator'],
      ['agent.low_risk', `user:${personId}`, `user:${personId}`],
    ]);
    expect(entries[0]).toMatchObject({ subject: 'risky', agent_id: expect.stringMatching(/^[0-9a-f-]{36}$/), metadata: null });
  });

  test('cannot be set for an agent that is unknown in the workspace', async () => {
    await evaluate('only-here');
    await expectRefusedAndUnchanged(() => setRisk('ghost', 'high'), /no agent named "ghost"/);
    const other = await server.workspace();
    await expectRefusedAndUnchanged(
      () => setRiskLevel(server.open.pool, other, { agent: 'only-here', level: 'high' }, 'operator'),
      /no agent named "only-here"/,
    );
  });

  test('decides whether the next check requires an approval', async () => {
    await evaluate('switched');
    expect((await checkPromotion('switched')).allowed).toBe(true);
    await setRisk('switched', 'high');
    expect(await checkPromotion('switched')).toMatchObject({
      allowed: false,
      reason: 'approval_required',
      event: 'approval.required',
    });
    await setRisk('switched', 'low');
    expect((await checkPromotion('switched')).allowed).toBe(true);
  });
});

describe('approval', () => {
  test('applies to one evaluation, and the next evaluation needs its own approval', async () => {
    const first = await evaluate('approved');
    await setRisk('approved', 'high');
    await checkPromotion('approved');
    await decide(first, 'approved', 'read the 20 transcripts');
    expect(await checkPromotion('approved')).toMatchObject({ allowed: true, evaluation_id: first });
    expect((await entriesOf('approved')).at(-1)).toMatchObject({
      action: 'approval.approved',
      recorded_by: 'operator',
      actor: 'operator',
      rationale: 'read the 20 transcripts',
      metadata: { evaluation_id: first },
      agent_id: expect.any(String),
    });
    await evaluate('approved');
    expect((await checkPromotion('approved')).reason).toBe('approval_required');
  });

  test('can be given before a promotion check has requested it', async () => {
    const id = await evaluate('early');
    await setRisk('early', 'high');
    await decide(id, 'approved');
    expect((await checkPromotion('early')).allowed).toBe(true);
    const [row] = await server.database.sql('SELECT * FROM countersign.approvals WHERE evaluation_id = $1', [id]);
    expect(row).toMatchObject({ status: 'approved', requested_by: 'operator', decided_by: 'operator' });
    expect((await entriesOf('early')).at(-1)?.recorded_at).toBe(row?.decided_at.toISOString());
  });

  test('can be revoked by a rejection, which is final', async () => {
    const id = await evaluate('taken-back');
    await setRisk('taken-back', 'high');
    await decide(id, 'approved');
    await expectRefusedAndUnchanged(() => decide(id, 'approved'), /is approved already, so nothing was changed/);
    await decide(id, 'rejected', 'a second look');
    expect(await checkPromotion('taken-back')).toMatchObject({ allowed: false, reason: 'approval_rejected' });
    await expectRefusedAndUnchanged(() => decide(id, 'approved'), /is rejected already; record a new evaluation/);
    await expectRefusedAndUnchanged(() => decide(id, 'rejected'), /is rejected already/);
    const actions = (await entriesOf('taken-back')).map(({ action }) => action);
    expect(actions).toEqual(['agent.high_risk', 'approval.approved', 'approval.rejected', 'approval.required']);
  });

  test('is refused for evaluations that are unknown, without an agent, of a low-risk agent or of another workspace', async () => {
    await expectRefusedAndUnchanged(() => decide(randomUUID(), 'approved'), /has no evaluation/);
    const { body } = await server.post(paths.evaluations, key, { name: 'of nobody' });
    await expectRefusedAndUnchanged(() => decide(body.id, 'approved'), /belongs to no agent/);
    const low = await evaluate('harmless');
    await expectRefusedAndUnchanged(() => decide(low, 'approved'), /"harmless" is not high-risk.*set its risk level to high/);
    await setRisk('harmless', 'high');
    const other = await server.workspace();
    await expectRefusedAndUnchanged(
      () => decideEvaluation(server.open.pool, other, { evaluationId: low, status: 'approved', rationale: 'x' }, 'operator'),
      /has no evaluation/,
    );
  });

  test('given eight times concurrently succeeds once and writes one ledger entry', async () => {
    const id = await evaluate('contested');
    await setRisk('contested', 'high');
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => decide(id, 'approved')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RuleViolationError);
    expect((await entriesOf('contested')).filter(({ action }) => action === 'approval.approved')).toHaveLength(1);
  });
});

describe('incident and re-certification', () => {
  test('an incident without re-certification does not affect decisions', async () => {
    await evaluate('scolded');
    const id = await openIncidentFor('scolded', { recertify: false });
    expect((await checkPromotion('scolded')).allowed).toBe(true);
    expect((await entriesOf('scolded')).at(-1)).toMatchObject({
      action: 'incident.created',
      rationale: 'it lied',
      metadata: { incident_id: id, severity: 'high', recertification_required: false },
    });
    await expectRefusedAndUnchanged(() => close('scolded'), /has no open re-certification/);
  });

  test('a re-certification blocks the gate until a later passing evaluation exists and a person closes the re-certification', async () => {
    await evaluate('bot');
    const first = await openIncidentFor('bot');
    expect(await checkPromotion('bot')).toMatchObject({
      allowed: false,
      reason: 'recertification_open',
      event: 'promotion.blocked',
    });
    await expectRefusedAndUnchanged(
      () => close('bot'),
      /was recorded before the incident was opened; record a passing evaluation/,
    );
    await evaluate('bot', { status: 'failing' });
    await expectRefusedAndUnchanged(() => close('bot'), /is failing, not passing/);
    await evaluate('bot');
    const second = await openIncidentFor('bot');
    await expectRefusedAndUnchanged(() => close('bot'), /was recorded before one of the incidents was opened/);
    const passing = await evaluate('bot');
    expect((await checkPromotion('bot')).reason).toBe('recertification_open');
    expect(await close('bot')).toEqual({ incidentIds: [first, second], evaluationId: passing });
    expect((await entriesOf('bot')).at(-1)).toMatchObject({
      action: 'recertification.closed',
      rationale: 'trained anew',
      metadata: { incident_ids: [first, second], evaluation_id: passing },
    });
    expect((await checkPromotion('bot')).allowed).toBe(true);
    await expectRefusedAndUnchanged(() => close('bot'), /has no open re-certification/);
  });

  test('a re-certification cannot be closed while the latest evaluation is failing, running or scheduled', async () => {
    await evaluate('relapsed');
    await openIncidentFor('relapsed');
    await evaluate('relapsed');
    for (const status of ['failing', 'running', 'scheduled']) {
      await evaluate('relapsed', { status });
      await expectRefusedAndUnchanged(() => close('relapsed'), new RegExp(`is ${status}, not passing`));
    }
    const last = await evaluate('relapsed');
    expect((await close('relapsed')).evaluationId).toBe(last);
  });

  test('a re-certification cannot be closed while the latest evaluation has no pass rate', async () => {
    await evaluate('rateless');
    await openIncidentFor('rateless');
    await evaluate('rateless', { pass_rate: undefined });
    await expectRefusedAndUnchanged(
      () => close('rateless'),
      /has no pass rate; record a passing evaluation with a pass rate now, then close the re-certification/,
    );
    const rated = await evaluate('rateless', { pass_rate: 0 });
    expect((await close('rateless')).evaluationId).toBe(rated);
  });

  test('a re-certification of an agent without evaluations cannot be closed', async () => {
    await server.post(paths.traces, key, { trace_id: 't-1', agent_name: 'never-evaluated' });
    await openIncidentFor('never-evaluated');
    await expectRefusedAndUnchanged(() => close('never-evaluated'), /has no evaluation at all/);
  });

  test('closing a re-certification does not affect other agents; an incident of an unknown agent is refused', async () => {
    await evaluate('guilty');
    await evaluate('bystander');
    await openIncidentFor('guilty');
    await openIncidentFor('bystander');
    await evaluate('guilty');
    await close('guilty');
    expect((await checkPromotion('guilty')).allowed).toBe(true);
    expect((await checkPromotion('bystander')).reason).toBe('recertification_open');
    await expectRefusedAndUnchanged(() => openIncidentFor('nobody'), /no agent named "nobody"/);
  });
});

describe('texts written by people', () => {
  const loneSurrogate = '\ud83d';

  test.each([
    ['empty', '', /must not be empty/],
    ['blank', ' \n ', /must not be empty/],
    ['one code point too long', '🦉'.repeat(65_537), /at most 65,536/],
    ['with U+0000', 'a\u0000b', /U\+0000/],
    ['with a lone surrogate', `a${loneSurrogate}`, /surrogate/],
  ])('are rejected as a rationale or description, and nothing is written: %s', async (_, text, message) => {
    const id = await evaluate('worded');
    await setRisk('worded', 'high');
    await openIncidentFor('worded');
    await expectRefusedAndUnchanged(() => decide(id, 'approved', text), message, InvalidInputError);
    await expectRefusedAndUnchanged(() => close('worded', text), message, InvalidInputError);
    await expectRefusedAndUnchanged(() => openIncidentFor('worded', { description: text }), message, InvalidInputError);
  });

  test('are stored unchanged in the ledger if they contain other unusual characters', async () => {
    const text = '🦉'.repeat(65_000) + ' "quoted" \\ \u0001\u2028\u202e é e\u0301 <b> \r\n\t';
    const id = await evaluate('verbatim');
    await setRisk('verbatim', 'high');
    await decide(id, 'approved', text);
    expect((await entriesOf('verbatim')).at(-1)?.rationale).toBe(text);
    await openIncidentFor('verbatim', { description: text });
    expect((await entriesOf('verbatim')).at(-1)?.rationale).toBe(text);
  });

  test.each([
    ['empty', ''],
    ['too long', 'x'.repeat(513)],
    ['with a control character', 'a\u001b[2J'],
    ['with U+0000', 'a\u0000'],
    ['with a lone surrogate', loneSurrogate],
  ])('are rejected as the name of a workspace, a key or an agent: %s', async (_, name) => {
    const { pool } = server.open;
    const options = { name, scopes: ['audit'] as const, expiresAt: null };
    for (const act of [
      () => createWorkspace(pool, name),
      () => mintKey(pool, tenantId, options, 'operator'),
      () => setRisk(name, 'high'),
      () => openIncidentFor(name),
      () => close(name),
    ]) {
      await expect(act()).rejects.toBeInstanceOf(InvalidInputError);
    }
  });
});

test('concurrent acts, audit entries and checks leave a valid chain and cause no deadlock', async () => {
  const agents = Array.from({ length: 6 }, (_, index) => `busy-${index}`);
  for (const agent of agents) await evaluate(agent);
  const work = agents.flatMap((agent) => [
    ...Array.from({ length: 10 }, () => server.post(paths.audit, key, { actor: 'ci', action: 'build.done', subject: agent })),
    ...Array.from({ length: 5 }, () => checkPromotion(agent)),
    setRisk(agent, 'high').then(() => setRisk(agent, 'low')),
    openIncidentFor(agent).then(async () => {
      await evaluate(agent);
      await close(agent);
    }),
  ]);
  await Promise.all(work);
  const report = await verifyAuditLedger(server.open.pool, tenantId);
  expect(report.firstBad).toBeUndefined();
  for (const agent of agents) expect((await entriesOf(agent)).length).toBeGreaterThanOrEqual(14);
});
