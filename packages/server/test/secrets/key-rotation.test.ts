import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digests } from '../../src/crypto/digests.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { signingKeyId } from '../../src/secrets/instance-signer.ts';
import { listDecisionKeys, markDecisionKeyRetired } from '../../src/storage/decision-keys.ts';
import { markSigning } from '../../src/storage/signing-keys.ts';
import { rotateDecisionKey } from '../../src/workspace/decision-keys.ts';
import { environmentOf, newKey, outputOf, runCommand } from '../fixtures/run-command.ts';
import { CommandProcess, DataFolder, ServerProcess } from '../fixtures/server-process.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-rotation-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Generates a key whose ID starts with `-` and so looks like an option. One key in 64 has such an ID. */
function generateKeyLikeAnOption(): KeyObject {
  for (;;) {
    const { privateKey } = generateKeyPairSync('ed25519');
    if (signingKeyId(privateKey).startsWith('-')) return privateKey;
  }
}

/** The signature lines of a note. */
const signatures = (note: string): string[] => note.split('\n').filter((line) => line.startsWith('\u2014 '));

describe('rotation of the decision key', () => {
  let server: TestServer;
  let key: string;
  const command = async (...args: string[]) => {
    const result = await runCommand(environmentOf(server), ...args, '--workspace', 'acme', '--json');
    return { ...result, output: JSON.parse(result.status === 0 ? result.out : result.err) };
  };
  const decide = async () => (await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body;
  const keyOf = async (keyId: string) =>
    Buffer.from((await command('decision-key', 'show', '--key-id', keyId)).output.decision_key, 'hex');

  beforeAll(async () => {
    server = await testServer();
    key = await server.key(await server.workspace('acme'));
  });

  test('the new key signs after the old one is retired, and old decisions stay valid', async () => {
    const before = await decide();
    const { key_id: second } = (await command('decision-key', 'rotate')).output;
    expect(await command('decision-key', 'rotate')).toMatchObject({
      status: 9,
      output: { message: expect.stringMatching(/two .* live/) },
    });
    const between = await decide();
    expect(between.key_id).toBe(before.key_id);
    expect((await command('decision-key', 'show')).output.key_id).toBe(before.key_id);
    expect((await command('decision-key', 'list')).output.map(({ state }: { state: string }) => state)).toEqual([
      'signs',
      'waits',
    ]);

    expect((await command('decision-key', 'retire', before.key_id)).output).toEqual({
      key_id: before.key_id,
      state: 'retired',
      signing: second,
    });
    const after = await decide();
    expect(after.key_id).toBe(second);
    for (const decision of [before, between, after])
      expect(decisionFault(decision, await keyOf(decision.key_id), digests)).toBeUndefined();
    expect(decisionFault(after, await keyOf(before.key_id), digests)).toMatch(/not by this key/);
    expect((await command('ledger', 'verify', '--log', 'decisions')).output).toMatchObject({ result: 'ok', entries: 3 });
  });

  test('`decision-key retire` refuses the last live key, a retired key and an unknown key', async () => {
    const [retiredKey, liveKey] = (await command('decision-key', 'list')).output;
    for (const [keyId, message] of [
      [liveKey.key_id, /the only live decision key/],
      [retiredKey.key_id, /was retired on/],
      ['dk_nobody', /has no decision key/],
    ])
      expect(await command('decision-key', 'retire', keyId)).toMatchObject({
        status: 9,
        output: { message: expect.stringMatching(message) },
      });
    expect((await command('decision-key', 'show', '--key-id', 'dk_nobody')).status).toBe(9);
  });

  test('each change has a ledger entry, recorded by the operator', async () => {
    const rows = await server.database.sql<{ action: string; recorded_by: string }>(
      `SELECT action, recorded_by FROM countersign.audit_entries WHERE action LIKE 'decision_key.%' ORDER BY seq`,
    );
    expect(rows).toEqual([
      { action: 'decision_key.rotated', recorded_by: 'operator' },
      { action: 'decision_key.retired', recorded_by: 'operator' },
    ]);
  });

  test('the decision of a check that waits for the retirement of a key is signed by the new key', async () => {
    const { pool } = server.open;
    const tenantId = await server.workspace();
    const sender = await server.key(tenantId);
    const second = await rotateDecisionKey(pool, tenantId, 'operator');
    let response: Promise<TestResponse> | undefined;
    await inTenantTransaction(pool, tenantId, async (tx) => {
      await lockLogs(tx, ['audit']);
      const [first] = await listDecisionKeys(tx);
      await markDecisionKeyRetired(tx, first!.keyId);
      // The server has not read the decision log of this workspace yet, so the check reads the HeadStore before it locks the logs. It must
      // read the decision key only after it has locked them.
      response = server.post(paths.promotionCheck, sender, { agent_name: 'bot' });
      await waitForBlockedStatements(server.database);
    });
    expect((await response!).body).toMatchObject({ key_id: second });
  });
});

describe('a signing key from the environment', () => {
  test('is rotated by configuration, as the command explains: both keys sign until the old one is retired', async () => {
    const server = await testServer();
    await server.workspace('acme');
    const withOldKey = environmentOf(server);
    const nextPem = generateKeyLikeAnOption().export({ type: 'pkcs8', format: 'pem' }).toString();
    const withBothKeys = {
      ...withOldKey,
      COUNTERSIGN_SIGNING_KEY: nextPem,
      COUNTERSIGN_SIGNING_KEY_PREVIOUS: withOldKey.COUNTERSIGN_SIGNING_KEY!,
    };
    const withNextKey = { ...withOldKey, COUNTERSIGN_SIGNING_KEY: nextPem };
    const checkpoint = (environment: Record<string, string>, log: string) =>
      runCommand(environment, 'ledger', 'checkpoint', '--workspace', 'acme', '--log', log);
    const show = async () => JSON.parse((await runCommand(withBothKeys, 'signing-key', 'show')).out).keys;

    expect(await runCommand(withOldKey, 'signing-key', 'rotate')).toMatchObject({
      status: 9,
      out: '',
      err: expect.stringMatching(/COUNTERSIGN_SIGNING_KEY_PREVIOUS/),
    });
    expect(await checkpoint(withNextKey, 'keys')).toMatchObject({
      status: 7,
      err: expect.stringMatching(/not a key of this database/),
    });
    expect(signatures((await checkpoint(withOldKey, 'audit')).out)).toHaveLength(1);
    expect(signatures((await checkpoint(withBothKeys, 'decisions')).out)).toHaveLength(2);
    const [first, second] = await show();
    expect((await runCommand(withBothKeys, 'signing-key', 'retire', second.kid)).err).toMatch(/the signing key in use/);
    expect(JSON.parse((await runCommand(withBothKeys, 'signing-key', 'retire', second.kid, '--json')).err).error).toBe('refused');
    expect((await runCommand(withBothKeys, 'signing-key', 'retire', 'nobody')).status).toBe(9);
    expect(await runCommand(withBothKeys, 'signing-key', 'retire', first.kid)).toMatchObject({
      status: 9,
      err: expect.stringMatching(/no server has been started with the key that follows/),
    });
    await markSigning(server.open.pool, [second.kid]); // as a server does when it starts
    expect(await runCommand(withBothKeys, 'signing-key', 'retire', first.kid)).toMatchObject({
      status: 0,
      err: expect.stringMatching(/unset COUNTERSIGN_SIGNING_KEY_PREVIOUS; restart every server/),
    });
    expect((await show())[0].retired_at).toMatch(/Z$/);
    expect(signatures((await checkpoint(withBothKeys, 'keys')).out)).toHaveLength(1);
    expect((await checkpoint(withNextKey, 'keys')).status).toBe(0);
    expect(await checkpoint(withOldKey, 'keys')).toMatchObject({ status: 7, err: expect.stringMatching(/was retired/) });
    // A reader who has only the new key can verify the decisions and the audit ledger. Only the old key signed the first checkpoint of
    // the ledger.
    const path = join(folder, 'kept-decisions');
    writeFileSync(path, (await checkpoint(withNextKey, 'decisions')).out);
    const options = ['--log', 'decisions', '--checkpoint', path, '--key', second.note_key];
    expect((await runCommand(withNextKey, 'ledger', 'verify', '--workspace', 'acme', ...options)).status).toBe(0);
    expect((await runCommand(withNextKey, 'ledger', 'verify', '--workspace', 'acme', '--key', second.note_key)).status).toBe(0);
    for (const log of ['audit', 'decisions', 'keys'])
      expect((await runCommand(withNextKey, 'ledger', 'verify', '--workspace', 'acme', '--log', log)).status, log).toBe(0);
  });
});

describe('the signing key of the embedded database', () => {
  const data = DataFolder.migrated();
  afterAll(() => data.clear());
  const secretPath = (name: string) => join(data.path, 'secrets', name);
  /** The exit code and the error output of a command. */
  const resultOf = async (...args: string[]) => {
    const command = new CommandProcess(args, data.environment);
    return [await command.ended, command.stderr];
  };

  test('rotates while a server runs: both keys sign after a restart, and only the new key after retirement and a restart', async () => {
    let server = await ServerProcess.start(data.environment);
    const { key } = await newKey(data.environment, 'acme');
    const token = await outputOf(['tokens', 'mint', '--workspace', 'acme', '--name', 'auditor'], data.environment);
    const get = async (path: string) =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })).text();
    const decide = () =>
      fetch(server.url + paths.promotionCheck, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: '{"agent_name":"bot"}',
      }).then((response) => response.json() as Promise<{ decision_id: string }>);
    const signNewCheckpoint = () => decide().then(async () => signatures(await get('/api/ledger/audit/checkpoint')));
    const vkeys = async () => (await outputOf(['signing-key', 'show', '--vkey'], data.environment)).split('\n');

    expect(await signNewCheckpoint()).toHaveLength(1);
    const [first] = await vkeys();
    // A rotation that was interrupted after its first file leaves the same key under both names. The next rotation completes it.
    copyFileSync(secretPath('signing-key.pem'), secretPath('signing-key-previous.pem'));
    const rotation = new CommandProcess(['signing-key', 'rotate'], { ...data.environment, COUNTERSIGN_PROT: '80' });
    expect(await rotation.ended).toBe(0);
    // The command opens the database twice and reports unknown variables once.
    expect(rotation.stderr.match(/unknown variable: COUNTERSIGN_PROT/g)).toHaveLength(1);
    expect(await vkeys()).toEqual([first, expect.stringMatching(/^countersign\//)]);
    expect(await resultOf('signing-key', 'rotate')).toEqual([9, expect.stringMatching(/run `signing-key retire` first/)]);
    expect(await signNewCheckpoint()).toHaveLength(1);
    const kidOf = async (index: number) => JSON.parse(await outputOf(['signing-key', 'show'], data.environment)).keys[index].kid;
    expect(await resultOf('signing-key', 'retire', await kidOf(0))).toEqual([
      9,
      expect.stringMatching(/restart every server first/),
    ]);

    await server.end('SIGTERM');
    server = await ServerProcess.start(data.environment);
    expect(await signNewCheckpoint()).toHaveLength(2);
    const { decision_id } = await decide();
    const attestation = JSON.parse(await get(`/api/ledger/decisions/${decision_id}/attestation`));
    expect(attestation.signatures).toHaveLength(2);
    const [file, note] = [join(folder, 'acme.ndjson'), join(folder, 'note')];
    writeFileSync(note, await get('/api/ledger/audit/checkpoint'));
    await outputOf(['ledger', 'export', '--workspace', 'acme', '--output', file], data.environment);
    const [, second] = await vkeys();
    for (const vkey of [first!, second!])
      expect(await outputOf(['ledger', 'verify', '--file', file, '--checkpoint', note, '--key', vkey], data.environment)).toMatch(
        /^valid/,
      );

    const { keys } = JSON.parse(await outputOf(['signing-key', 'show'], data.environment));
    expect(await resultOf('signing-key', 'retire', keys[1].kid)).toEqual([9, expect.stringMatching(/in use/)]);
    await outputOf(['signing-key', 'retire', keys[0].kid], data.environment);
    expect(existsSync(secretPath('signing-key-previous.pem'))).toBe(false);
    await server.end('SIGTERM');
    server = await ServerProcess.start(data.environment);
    expect(await signNewCheckpoint()).toHaveLength(1);
    const published = JSON.parse(await get('/.well-known/jwks.json')).keys;
    expect(published.map(({ retired_at }: { retired_at?: string }) => retired_at !== undefined)).toEqual([true, false]);
    expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], data.environment)).toMatch(/^valid/);
    await server.end('SIGTERM');
  }, 180_000);
});
