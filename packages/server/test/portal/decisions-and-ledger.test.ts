import { createHash } from 'node:crypto';
import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import { beforeAll, describe, expect, test } from 'vitest';
import { digests } from '../../src/crypto/digests.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;
let admin: PortalClient;
let allowed: Record<string, unknown>;
let blocked: Record<string, unknown>;

const check = async (body: object) => (await server.post(paths.promotionCheck, key, body)).body;
const append = async (body: object) => (await server.post(paths.audit, key, { actor: 'ci', action: 'build.done', ...body })).body;

beforeAll(async () => {
  // The server signs checkpoints only on request, because a test checks which logs have a checkpoint.
  server = await testServer({ checkpointSeconds: undefined });
  workspace = await server.workspace();
  key = await server.key(workspace);
  [viewer, admin] = await Promise.all([portalClient(server, workspace, 'viewer'), portalClient(server, workspace, 'admin')]);
  await server.post(paths.evaluations, key, { name: 'n', agent_name: 'bot', pass_rate: 90 });
  allowed = await check({ agent_name: 'bot' });
  blocked = await check({ agent_name: 'bot', min_pass_rate: 99 });
  await check({ agent_name: 'ghost' });
});

describe('the list of decisions', () => {
  test('is sorted newest first and filters by agent, result, reason, evaluation and time', async () => {
    const list = async (query: Record<string, string> = {}) =>
      (await viewer.getResult('decisions.list', { query })).items.map(({ id }) => id);
    const all = (await viewer.getResult('decisions.list')).items;
    const [ghost, blockedBot, allowedBot] = all;
    expect(all.map(({ reason }) => reason)).toEqual(['no_recent_evaluation', 'pass_rate_below_threshold', 'all_conditions_met']);
    expect(allowedBot).toMatchObject({
      id: allowed.decision_id,
      seq: 1,
      agent: { name: 'bot' },
      asked_by: `key:${key.slice(8, 20)}`,
      event: 'promotion.allowed',
    });
    expect(ghost).toMatchObject({ agent: null, asked_for: 'ghost', evaluation_id: null });
    expect([blockedBot!.asked_for, allowedBot!.asked_for]).toEqual([null, null]);
    expect(await list({ agent_id: allowedBot!.agent!.id })).toEqual([blockedBot!.id, allowedBot!.id]);
    expect(await list({ agent_id: allowedBot!.agent!.id, allowed: 'false' })).toEqual([blockedBot!.id]);
    expect(await list({ allowed: 'false' })).toEqual([ghost!.id, blockedBot!.id]);
    expect(await list({ allowed: 'true' })).toEqual([allowedBot!.id]);
    expect(await list({ allowed: 'true', reason: 'no_recent_evaluation' })).toEqual([]);
    expect(await list({ reason: 'no_recent_evaluation' })).toEqual([ghost!.id]);
    expect(await list({ evaluation_id: allowedBot!.evaluation_id! })).toEqual([blockedBot!.id, allowedBot!.id]);
    expect(await list({ from: blockedBot!.decided_at })).toEqual(expect.arrayContaining([ghost!.id, blockedBot!.id]));
    expect(await list({ to: allowedBot!.decided_at })).toEqual([]);
    const first = await viewer.getResult('decisions.list', { query: { allowed: 'false', limit: '1' } });
    expect(await list({ allowed: 'false', limit: '1', cursor: first.next! })).toEqual([blockedBot!.id]);
  });
});

describe('one decision', () => {
  test('has the same document, evidence and attestation as its downloads; its signature verifies with the decision key', async () => {
    const params = { decision: String(blocked.decision_id) };
    const read = await viewer.getResult('decisions.read', { params });
    expect(read.decision).toEqual(blocked);
    expect(JSON.parse(read.document)).toEqual(blocked);
    expect(read).toMatchObject({ altered: null, attestation: { payloadType: 'application/vnd.in-toto+json' } });
    const { text, headers } = await viewer.download('decisions.document', { params });
    expect(text).toBe(read.document);
    expect(headers.get('content-disposition')).toContain('attachment');
    expect(createHash('sha256').update(read.evidence).digest('hex')).toBe(read.decision.evidence_sha256);
    expect((await viewer.download('decisions.evidence', { params })).text).toBe(read.evidence);
    expect(JSON.parse((await viewer.download('decisions.attestation', { params })).text)).toEqual(read.attestation);
    const { decision_keys } = await viewer.getResult('signing.read');
    const shown = await admin.getResult('decision_keys.show', { params: { key: decision_keys[0]!.key_id } });
    expect(decisionFault(JSON.parse(read.document), Buffer.from(shown.decision_key, 'hex'), digests)).toBeUndefined();
  });

  test('that was altered in the database is marked as altered and has no attestation', async () => {
    const { decision_id: id } = await check({ agent_name: 'bot', min_pass_rate: 98 });
    await server.database.sql('ALTER TABLE countersign.decisions DISABLE TRIGGER append_only');
    await server.database.sql(
      `UPDATE countersign.decisions SET document = replace(document, '"allowed":false', '"allowed":true') WHERE id = $1`,
      [id],
    );
    await server.database.sql('ALTER TABLE countersign.decisions ENABLE ALWAYS TRIGGER append_only');
    const read = await viewer.getResult('decisions.read', { params: { decision: id } });
    expect([read.attestation, read.altered]).toEqual([null, expect.stringContaining('was altered')]);
  });
});

describe('the ledger', () => {
  beforeAll(async () => {
    for (const number of [1, 2, 3])
      await append({ actor: `ci-${number}`, trace_id: 'run-1', subject: `s-${number}`, metadata: { number } });
    await append({
      action: 'odd.one',
      agent_id: (await viewer.getResult('agents.list')).items[0]!.id,
      rationale: 'y'.repeat(900),
    });
  });

  test('is listed newest first and filters by actor, action, agent, run and time', async () => {
    const list = async (query: Record<string, string> = {}) => (await viewer.getResult('ledger.list', { query })).items;
    const all = await list();
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => all.length - index));
    const [odd, third, second, first] = all;
    expect(odd).toMatchObject({ action: 'odd.one', agent: { name: 'bot' }, rationale: 'y'.repeat(500) });
    expect([third, second, first]).toMatchObject(
      [3, 2, 1].map((number) => ({ actor: `ci-${number}`, action: 'build.done', trace_id: 'run-1', subject: `s-${number}` })),
    );
    expect(await list({ actor: 'ci-2' })).toEqual([second]);
    expect(await list({ trace_id: 'run-1' })).toEqual([third, second, first]);
    expect(await list({ trace_id: 'run-1', actor: 'ci-1' })).toEqual([first]);
    expect(await list({ action: 'odd.one' })).toEqual([odd]);
    expect(await list({ agent_id: odd!.agent!.id })).toEqual(all.filter(({ agent }) => agent?.id === odd!.agent!.id));
    expect(await list({ to: all.at(-1)!.recorded_at })).toEqual([]);
    expect(await list({ from: odd!.recorded_at })).toEqual(all.filter(({ recorded_at }) => recorded_at >= odd!.recorded_at));
    expect(await list({ from: '2999-01-01T00:00:00Z' })).toEqual([]);
    const { actions } = await viewer.getResult('ledger.actions');
    expect(actions).toEqual([...new Set(all.map(({ action }) => action))].sort());
  });

  test('finds exactly the rows recorded at or after the time `from`, and exactly the rows recorded before the time `to`', async () => {
    await Promise.all(Array.from({ length: 40 }, () => append({ action: 'burst.one' })));
    const all = (await viewer.getResult('ledger.list', { query: { limit: '200' } })).items;
    const instants = [...new Set(all.map(({ recorded_at }) => recorded_at)), '2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z'];
    for (const at of instants) {
      const since = (await viewer.getResult('ledger.list', { query: { from: at, limit: '200' } })).items;
      const until = (await viewer.getResult('ledger.list', { query: { to: at, limit: '200' } })).items;
      expect(since).toEqual(all.filter(({ recorded_at }) => recorded_at >= at));
      expect(until).toEqual(all.filter(({ recorded_at }) => recorded_at < at));
    }
  });

  test('returns an entry with its hashed text and the entries before and after it', async () => {
    const { items } = await viewer.getResult('ledger.list', { query: { actor: 'ci-2' } });
    const entry = await viewer.getResult('ledger.read', { params: { seq: String(items[0]!.seq) } });
    expect(createHash('sha256').update(`countersign/audit-entry/v1\n${entry.document}`).digest('hex')).toBe(entry.row_hash);
    expect(entry).toMatchObject({
      metadata: { number: 2 },
      prev_hash: entry.previous!.row_hash,
      next: { prev_hash: entry.row_hash, seq: entry.seq + 1 },
    });
    const { seq: last } = await viewer.getResult('ledger.head');
    expect(await viewer.getResult('ledger.read', { params: { seq: '1' } })).toMatchObject({ previous: null, prev_hash: null });
    expect(await viewer.getResult('ledger.read', { params: { seq: String(last) } })).toMatchObject({ next: null });
    expect((await viewer.callRoute('ledger.read', { params: { seq: String(last + 1) } })).status).toBe(404);
  });

  test('is streamed as NDJSON in ranges, which together are a valid chain up to the head', async () => {
    const head = await viewer.getResult('ledger.head');
    const verifier = new ChainVerifier(digests, head.tenant_id);
    for (let from = 1; from <= head.seq; from += 10) {
      const { text, headers } = await viewer.download('ledger.export', { query: { from: String(from), to: String(from + 9) } });
      expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
      for (const line of text.trimEnd().split('\n')) expect(verifier.next(JSON.parse(line))).toBeUndefined();
    }
    expect(verifier.head).toEqual({ seq: head.seq, rowHash: head.row_hash });
    expect((await viewer.download('ledger.export')).text.trimEnd().split('\n')).toHaveLength(head.seq);
  });

  test('is not exported from a higher to a lower number', async () => {
    const { status, body } = await viewer.callRoute('ledger.export', { query: { from: '5', to: '2' } });
    expect([status, body.issues]).toEqual([
      422,
      [{ path: '/from', code: 'bad_query', message: 'from (5) must not be greater than to (2)' }],
    ]);
  });

  test('is listed with its size and latest checkpoint, together with the other logs', async () => {
    const { text: note } = await viewer.download('logs.checkpoint', { params: { log: 'audit' } });
    const { seq } = await viewer.getResult('ledger.head');
    const { items } = await viewer.getResult('logs.list');
    const stored = await server.database.sql<{ log: string; rows: number }>(
      'SELECT log, seq::integer AS rows FROM countersign.log_heads WHERE tenant_id = $1 ORDER BY log',
      [workspace],
    );
    expect(stored.map(({ log }) => log)).toEqual(['audit', 'decisions', 'evidence', 'keys', 'traces']);
    // Only the audit ledger has a checkpoint: the one that was requested above.
    const checkpoint = { size: Number(note.split('\n')[1]), signed_at: expect.any(String) };
    expect(items).toEqual(stored.map((row) => ({ ...row, checkpoint: row.log === 'audit' ? checkpoint : null, fault: null })));
    expect(checkpoint.size).toBe(seq);
    for (const { fault } of items) expect(fault).toBeNull();
  });

  test('returns the checkpoint and proofs of a log, and rejects positions beyond its size', async () => {
    for (const log of ['audit', 'decisions', 'evidence', 'keys']) {
      const { text: note } = await viewer.download('logs.checkpoint', { params: { log } });
      const size = Number(note.split('\n')[1]);
      const { text: proof } = await viewer.download('logs.inclusion', { params: { log, seq: '1' } });
      expect(proof.startsWith('c2sp.org/tlog-proof@v1\nindex 0\n')).toBe(true);
      expect(await viewer.getResult('logs.consistency', { params: { log }, query: { first: '1' } })).toMatchObject({
        log,
        first: 1,
        second: size,
        checkpoint: note,
      });
      expect((await viewer.callRoute('logs.inclusion', { params: { log, seq: String(size + 1) } })).status).toBe(404);
      const beyond = await viewer.callRoute('logs.consistency', { params: { log }, query: { first: String(size + 1) } });
      expect([beyond.status, beyond.body.issues[0].path]).toEqual([422, '/first']);
    }
  });
});
