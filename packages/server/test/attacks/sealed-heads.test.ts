import { randomUUID } from 'node:crypto';
import { signDecision } from '@countersign/core/domain/decision-signature';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deriveDecisionKey, digests } from '../../src/crypto/digests.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { Insider } from './insider.ts';

let server: TestServer;
let insider: Insider;
let tenantId = '';
let otherId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  [tenantId, otherId] = [await server.workspace('victim'), await server.workspace('other')];
  key = await server.key(tenantId);
  await storeRecords(key);
  await storeRecords(await server.key(otherId));
  insider = await Insider.open(server.database);
  return () => insider.close();
});

afterEach(() => insider.undo());

async function storeRecords(key: string): Promise<void> {
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95 });
  for (let count = 0; count < 12; count += 1) await append(key);
  await check(key);
}

/** Appends an entry whose batch locks the head. Without an Idempotency-Key, the batch may continue from the head in memory. */
const append = (key: string, target = server) =>
  target.post(paths.audit, key, { actor: 'ci', action: 'deployed' }, { 'idempotency-key': randomUUID() });
const check = (key: string, target = server) => target.post(paths.promotionCheck, key, { agent_name: 'bot' });

const run = (...args: string[]) => runCommand(environmentOf(server), ...args);

/** A server that has not read the logs yet. */
const startFreshServer = () => testServer({ checkpointSeconds: undefined, database: server.database });

const logRewrittenResponse = { status: 500, body: { error: 'log_rewritten' } };

/** Expects that a server appends and decides nothing, that the commands sign and prove nothing, and that `ledger verify` fails. */
async function expectNothingSigned(target: TestServer): Promise<void> {
  expect(await append(key, target)).toMatchObject(logRewrittenResponse);
  expect(await check(key, target)).toMatchObject(logRewrittenResponse);
  for (const command of ['checkpoint', 'prove'])
    expect(
      (await run('ledger', command, '--workspace', 'victim', ...(command === 'prove' ? ['--seq', '3'] : []))).status,
    ).not.toBe(0);
  expect((await run('ledger', 'verify', '--workspace', 'victim')).status).toBe(1);
}

describe('if a head was not written by the server, the server appends, decides, signs and proves nothing', () => {
  test.each([
    ['changed frontier', `frontier = sha256('x') || substring(frontier FROM 33)`],
    ['changed size and hash', `seq = seq - 1, tree_size = tree_size - 1, row_hash = sha256('x')`],
    ['time changed by a microsecond', `last_recorded_at = last_recorded_at - interval '1 microsecond'`],
    ['seal of another epoch', `seal = '\\x02' || substring(seal FROM 2)`],
    ['forged seal', `seal = '\\x01' || sha256('x')`],
  ])('%s', async (_what, set) => {
    await insider.sql(`UPDATE countersign.log_heads SET ${set} WHERE $T AND log = 'audit'`, tenantId);
    await expectNothingSigned(await startFreshServer());
  });

  test('a ledger rewritten from its first row with correct hashes', async () => {
    const entries = await insider.entries(tenantId);
    await insider.rewriteLedger(tenantId, [{ ...entries[0]!, actor: 'somebody-else' }, ...entries.slice(1)]);
    await insider.deleteCheckpoints(tenantId);
    await expectNothingSigned(await startFreshServer());
    expect(await run('ledger', 'verify', '--workspace', 'victim')).toMatchObject({
      status: 1,
      out: expect.stringMatching(/the stored head: its seal is not valid/),
    });
  });

  test('a head with the valid seal of another log or workspace', async () => {
    const columns = 'seq, row_hash, last_recorded_at, tree_size, frontier, seal';
    for (const [theirs, log] of [
      [tenantId, 'decisions'],
      [otherId, 'audit'],
    ] as const) {
      const [head] = await server.database.sql(
        `SELECT ${columns.replace('last_recorded_at', 'last_recorded_at::text')}
           FROM countersign.log_heads WHERE tenant_id = $1 AND log = $2`,
        [theirs, log],
      );
      await server.database.sql(
        `UPDATE countersign.log_heads SET (${columns}) = ($2, $3, $4, $5, $6, $7) WHERE tenant_id = $1 AND log = 'audit'`,
        [tenantId, ...Object.values(head!)],
      );
      await expectNothingSigned(await startFreshServer());
      await insider.undo();
    }
  });

  test('/readyz and the metrics report the refused log until the head is restored', async () => {
    const observedServer = await startFreshServer();
    const reportedState = async () => {
      const [ready, metrics] = await Promise.all([fetch(`${observedServer.url}/readyz`), fetch(`${observedServer.url}/metrics`)]);
      const { warnings = [] } = (await ready.json()) as { warnings?: string[] };
      // Warnings about the triggers that the insider disabled are left out.
      const refusedWarnings = warnings.filter((warning) => warning.startsWith('logs refused'));
      return [ready.status, refusedWarnings, /^countersign_logs_refused \d+$/m.exec(await metrics.text())?.[0]];
    };
    await insider.sql(`UPDATE countersign.log_heads SET seal = '\\x01' || sha256('x') WHERE $T AND log = 'audit'`, tenantId);
    await append(key, observedServer);
    expect(await reportedState()).toEqual([200, [expect.stringMatching(/^logs refused: 1 /)], 'countersign_logs_refused 1']);
    await insider.undo();
    expect((await append(key, observedServer)).status).toBe(200);
    expect(await reportedState()).toEqual([200, [], 'countersign_logs_refused 0']);
  });

  test('a deleted head', async () => {
    await insider.sql(`DELETE FROM countersign.log_heads WHERE $T AND log = 'audit'`, tenantId);
    await expectNothingSigned(await startFreshServer());
  });
});

describe('a decision forged with the decision key and inserted into the table', () => {
  /** Appends an allowed decision with a valid HMAC, which any gate with the decision key can compute. */
  async function forge(): Promise<string> {
    const [last] = await insider.sql<{ seq: string; document: string }>(
      'SELECT seq, document FROM countersign.decisions WHERE $T ORDER BY seq DESC LIMIT 1',
      tenantId,
    );
    const { response_sha256: _digest, signature: _signature, signature_alg: _alg, ...decision } = JSON.parse(last!.document);
    const forged = signDecision(
      { ...decision, allowed: true, reason: 'all_conditions_met', decision_id: randomUUID() },
      deriveDecisionKey(server.open.secrets.masterSecret, tenantId, decision.key_id),
      digests,
    );
    await insider.sql(
      `INSERT INTO countersign.decisions
       SELECT (jsonb_populate_record(d, $1::jsonb)).* FROM countersign.decisions AS d WHERE $T AND seq = $2`,
      tenantId,
      [
        JSON.stringify({
          ...{ seq: Number(last!.seq) + 1, id: forged.decision_id, allowed: true, reason: forged.reason },
          ...{ response_sha256: `\\x${forged.response_sha256}`, document: JSON.stringify(forged) },
        }),
        last!.seq,
      ],
    );
    return forged.decision_id;
  }

  /** The status of the responses with the attestation, the decision and its evidence. It must be the same for all three. */
  const responseStatus = async (target: TestServer, decision: string) => {
    const reader = { name: 'auditor', scopes: ['read'] as const, expiresAt: null };
    const token = await mintKey(target.open.pool, tenantId, reader, 'operator');
    const headers = { authorization: `Bearer ${token}` };
    const paths = ['/attestation', '', '/evidence'].map((part) => `${target.url}/api/ledger/decisions/${decision}${part}`);
    const responses = await Promise.all(paths.map((path) => fetch(path, { headers })));
    const [status, ...others] = responses.map((response) => response.status);
    expect(others).toEqual([status, status]);
    return status;
  };

  test('is not attested or returned, whether or not the attacker moved the head to cover it', async () => {
    const id = await forge();
    const [genuine] = await insider.sql<{ id: string }>('SELECT id FROM countersign.decisions WHERE $T AND seq = 1', tenantId);
    const fresh = await startFreshServer();
    expect([await responseStatus(fresh, genuine!.id), await responseStatus(fresh, id)]).toEqual([200, 500]);
    await insider.regrow(tenantId, 'decisions');
    expect([await responseStatus(fresh, genuine!.id), await responseStatus(fresh, id)]).toEqual([500, 500]);
  });

  test('is not attested or returned in place of another decision', async () => {
    const id = await forge();
    await insider.sql('DELETE FROM countersign.decisions WHERE $T AND seq = 1', tenantId);
    await insider.sql('UPDATE countersign.decisions SET seq = 1 WHERE $T AND id = $1', tenantId, [id]);
    expect(await responseStatus(await startFreshServer(), id)).toBe(500);
  });
});

describe('an older state restored with its valid seals', () => {
  beforeAll(async () => {
    tenantId = await server.workspace('restored');
    key = await server.key(tenantId);
    await storeRecords(key);
    // The attacker restores these heads later.
    await server.database.sql('CREATE TABLE backup AS SELECT * FROM countersign.log_heads WHERE tenant_id = $1', [tenantId]);
    for (let count = 0; count < 4; count += 1) await append(key);
  });

  test('is refused by a server that has read later rows, even after another server has appended more rows than were removed', async () => {
    await insider.sql(
      `DELETE FROM countersign.audit_entries WHERE $T AND seq > (SELECT seq FROM backup WHERE log = 'audit')`,
      tenantId,
    );
    await insider.sql('DELETE FROM countersign.log_heads WHERE $T', tenantId);
    await insider.sql('INSERT INTO countersign.log_heads SELECT * FROM backup', tenantId);
    expect(await append(key)).toMatchObject(logRewrittenResponse);
    expect(await check(key)).toMatchObject(logRewrittenResponse);
    const otherServer = await startFreshServer();
    for (let count = 0; count < 6; count += 1) expect((await append(key, otherServer)).status).toBe(200);
    expect(await append(key)).toMatchObject(logRewrittenResponse);
    expect(await check(key)).toMatchObject(logRewrittenResponse);
  });
});

describe('a log to which two servers append', () => {
  let second: TestServer;

  beforeEach(async () => {
    second = await startFreshServer();
    tenantId = await server.workspace();
    key = await server.key(tenantId);
    await storeRecords(key);
  });

  /** Lets both servers append in turn, so that each server reads rows that the other one wrote. */
  async function appendInTurn(times: number): Promise<void> {
    for (let count = 0; count < times; count += 1)
      for (const target of [server, second]) expect((await append(key, target)).status).toBe(200);
  }

  test('is accepted by both servers after the stored nodes of its tree were deleted', async () => {
    await appendInTurn(130);
    await insider.sql(`DELETE FROM countersign.tree_nodes WHERE $T AND log = 'audit'`, tenantId);
    await appendInTurn(2);
  });

  test.each([
    ['the original length', 0, false],
    ['more than the original length', 3, false],
    ['more than the original length, even if the new rows get the hashes of the deleted rows', 3, true],
  ])(
    'is refused by both servers after an older state was restored and a third server extended it to %s',
    async (_, more, replacesHashes) => {
      const columns = 'tenant_id, log, seq, row_hash, tree_size, frontier, last_recorded_at, seal';
      await appendInTurn(2);
      await insider.sql(`CREATE TABLE older AS SELECT ${columns} FROM countersign.log_heads WHERE $T`, tenantId);
      await appendInTurn(3);
      const [{ n: lostCount } = { n: 0 }] = await server.database.sql<{ n: number }>(
        `SELECT count(*)::integer AS n FROM countersign.audit_entries
        WHERE tenant_id = $1 AND seq > (SELECT seq FROM older WHERE log = 'audit')`,
        [tenantId],
      );
      await insider.sql('CREATE TABLE abandoned AS SELECT seq, row_hash FROM countersign.audit_entries WHERE $T', tenantId);
      await insider.sql(
        `DELETE FROM countersign.audit_entries WHERE $T AND seq > (SELECT seq FROM older WHERE log = 'audit')`,
        tenantId,
      );
      await insider.sql('DELETE FROM countersign.log_heads WHERE $T', tenantId);
      await insider.sql(`INSERT INTO countersign.log_heads (${columns}) SELECT ${columns} FROM older`, tenantId);
      const third = await startFreshServer();
      for (let count = 0; count < lostCount + more; count += 1) expect((await append(key, third)).status).toBe(200);
      if (replacesHashes)
        await insider.sql(
          `UPDATE countersign.audit_entries AS e SET row_hash = abandoned.row_hash FROM abandoned WHERE e.$T AND e.seq = abandoned.seq`,
          tenantId,
        );
      for (const target of [server, second]) expect(await append(key, target)).toMatchObject(logRewrittenResponse);
      await insider.sql('DROP TABLE older, abandoned', tenantId);
    },
  );
});
