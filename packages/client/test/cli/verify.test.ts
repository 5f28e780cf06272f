import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { signDecision } from '@countersign/core/domain/decision-signature';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { digests } from '../../src/verification/cryptography.ts';
import { runCli } from '../fixtures/run-cli.ts';

let server: TestServer;
let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  server = await testServer();
  folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'));
  const tenantId = await server.workspace('acme');
  const key = await server.key(tenantId);
  const operate = async (...args: string[]) => (await runCommand(environmentOf(server), ...args)).out.trim();
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'good', pass_rate: 99 });
  const environment = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key };
  await runCli(['gate', '--agent', 'good', '--output', at('allowed.json')], { environment });
  await runCli(['gate', '--agent', 'good', '--min-pass-rate', '100', '--output', at('blocked.json')], { environment });
  writeFileSync(at('workspace.key'), await operate('decision-key', 'show', '--workspace', 'acme'));
  writeFileSync(at('jwks.json'), await operate('signing-key', 'show'));
  writeFileSync(at('trust.json'), await operate('trust', 'show', '--workspace', 'acme'));
  writeFileSync(at('instance.vkey'), await operate('signing-key', 'show', '--vkey'));
  await operate('ledger', 'export', '--workspace', 'acme', '--output', at('acme.ndjson'));
  const token = await operate('tokens', 'mint', '--workspace', 'acme', '--name', 'auditor');
  const readAsAuditor = async (path: string) =>
    (await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })).text();
  const { decision_id } = JSON.parse(readFileSync(at('allowed.json'), 'utf8'));
  writeFileSync(at('attestation.json'), await readAsAuditor(`/api/ledger/decisions/${decision_id}/attestation`));
  writeFileSync(at('acme.checkpoint'), await readAsAuditor('/api/ledger/audit/checkpoint'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const verify = (...args: string[]) => runCli(['verify', ...args]);

describe('verify decision', () => {
  const byKey = ['--verify-key'];

  test('verifies a decision that gate --output wrote, with the decision key, and prints the verdict', async () => {
    const allowed = await verify('decision', at('allowed.json'), ...byKey, at('workspace.key'));
    expect([allowed.status, allowed.out]).toEqual([
      0,
      expect.stringMatching(/^genuine, signed by decision key dk_.*\nALLOWED at /),
    ]);
    const blocked = await verify('decision', at('blocked.json'), ...byKey, at('workspace.key'), '--json');
    expect([blocked.status, JSON.parse(blocked.out)]).toEqual([0, expect.objectContaining({ genuine: true })]);
    expect((await verify('decision', at('blocked.json'), ...byKey, at('workspace.key'), '--allowed')).status).toBe(1);
    expect((await verify('decision', at('allowed.json'), ...byKey, at('workspace.key'), '--allowed')).status).toBe(0);
  });

  test('verifies an attestation with the public key, as a JWKS or a verifier key', async () => {
    for (const key of ['jwks.json', 'instance.vkey']) {
      const { status, out } = await verify('decision', at('attestation.json'), ...byKey, at(key), '--allowed');
      expect([status, out]).toEqual([0, expect.stringContaining('signed by public key')]);
    }
  });

  test('accepts a key that several sources give', async () => {
    const { status } = await verify(
      ...['decision', at('attestation.json'), '--allowed'],
      ...[...byKey, at('jwks.json'), ...byKey, at('instance.vkey')],
    );
    expect(status).toBe(0);
  });

  test('rejects an altered decision, another key and a retired key', async () => {
    writeFileSync(at('altered.json'), readFileSync(at('blocked.json'), 'utf8').replace('"allowed":false', '"allowed":true'));
    const altered = await verify('decision', at('altered.json'), ...byKey, at('workspace.key'));
    expect([altered.status, altered.out]).toEqual([1, expect.stringMatching(/^NOT GENUINE: .*altered/)]);
    writeFileSync(at('other.key'), 'ab'.repeat(32));
    const other = await verify('decision', at('allowed.json'), ...byKey, at('other.key'));
    expect([other.status, other.out]).toEqual([1, expect.stringMatching(/^NOT GENUINE: .*not by this key/)]);
    const retired = JSON.parse(readFileSync(at('jwks.json'), 'utf8'));
    retired.keys[0].retired_at = '2020-01-01T00:00:00.000Z';
    writeFileSync(at('retired.json'), JSON.stringify(retired));
    const afterRetirement = await verify('decision', at('attestation.json'), ...byKey, at('retired.json'));
    expect([afterRetirement.status, afterRetirement.out]).toEqual([
      1,
      expect.stringMatching(/^NOT GENUINE: .*was retired before/),
    ]);
    // The retirement counts even if another source lists the key as not retired.
    for (const keyArguments of [
      [at('jwks.json'), ...byKey, at('retired.json')],
      [at('retired.json'), ...byKey, at('jwks.json')],
    ])
      expect((await verify('decision', at('attestation.json'), ...byKey, ...keyArguments)).out).toMatch(/was retired before/);
  });

  test('rejects the wrong kind of key and names the right one', async () => {
    for (const [document, key, right] of [
      ['allowed.json', 'jwks.json', 'decision key'],
      ['attestation.json', 'workspace.key', 'public key'],
    ] as const) {
      const { status, out, err } = await verify('decision', at(document), ...byKey, at(key));
      expect([status, out, err]).toEqual([2, '', expect.stringContaining(right)]);
    }
  });

  test('accepts only an attestation if a trust file is given, because holders of the decision key can forge decisions', async () => {
    const environment = { COUNTERSIGN_VERIFY_KEY_FILE: at('workspace.key') };
    const byTrust = (file: string) => runCli(['verify', 'decision', at(file), '--trust', at('trust.json')], { environment });
    const signed = await byTrust('allowed.json');
    expect([signed.status, signed.out, signed.err]).toEqual([2, '', expect.stringContaining('only an attestation counts')]);
    expect((await byTrust('attestation.json')).status).toBe(0);
  });

  test('accepts only an attestation if a public key is given beside the decision key', async () => {
    const environment = { COUNTERSIGN_VERIFY_KEY_FILE: at('workspace.key') };
    const byPublicKey = (file: string) =>
      runCli(['verify', 'decision', at(file), '--verify-key', at('jwks.json')], { environment });
    const signed = await byPublicKey('allowed.json');
    const why = expect.stringContaining('with a public key, only an attestation counts');
    expect([signed.status, signed.out, signed.err]).toEqual([2, '', why]);
    expect((await byPublicKey('attestation.json')).status).toBe(0);
  });

  test('finds every published test vector genuine, including the decisions of older versions', async () => {
    const vectors = (name: string) =>
      JSON.parse(readFileSync(fileURLToPath(new URL(`../../../core/test/vectors/${name}.json`, import.meta.url)), 'utf8')) as {
        jwks: object;
        cases: { decision_key_hex: string; response: object; envelope: object }[];
      };
    const verifyVector = async (document: object, key: string) => {
      writeFileSync(at('vector.json'), JSON.stringify(document));
      writeFileSync(at('vector.key'), key);
      return (await verify('decision', at('vector.json'), ...byKey, at('vector.key'), '--json')).out;
    };
    for (const { response, decision_key_hex } of vectors('decision').cases)
      expect(JSON.parse(await verifyVector(response, decision_key_hex))).toMatchObject({ genuine: true });
    const { jwks, cases } = vectors('attestation');
    for (const { envelope } of cases)
      expect(JSON.parse(await verifyVector(envelope, JSON.stringify(jwks)))).toMatchObject({ genuine: true });
  });

  test.each([
    ['asked_by', []],
    ['evidence_sha256', 'AB'],
    ['evidence_size', '412'],
    ['harness_id', 'ours'],
    ['max_age_hours', '72'],
    ['nonce', {}],
    ['evaluation', { category: 7 }],
    ['evaluation', { agent_name: null }],
  ])('rejects a signed decision with an invalid member %s', async (member, value) => {
    const { response_sha256, signature, signature_alg, ...decision } = JSON.parse(readFileSync(at('allowed.json'), 'utf8'));
    const key = Buffer.from(readFileSync(at('workspace.key'), 'utf8').trim(), 'hex');
    const changed = member === 'evaluation' ? { ...decision.evaluation, ...(value as object) } : value;
    writeFileSync(at('typed.json'), JSON.stringify(signDecision({ ...decision, [member]: changed }, key, digests)));
    const { status, out } = await verify('decision', at('typed.json'), ...byKey, at('workspace.key'));
    expect([status, out]).toEqual([1, `NOT GENUINE: it is not a decision of this service: ${member} is invalid\n`]);
  });
});

/**
 * Writes a copy of a file with `text` before its last `mark`, or at its end if `mark` is empty. Each character of `text` becomes one byte,
 * so `\xff` is not UTF-8.
 */
function withBytes(name: string, text: string, mark: string): string {
  const data = readFileSync(at(name));
  const index = mark === '' ? data.length : data.lastIndexOf(mark);
  writeFileSync(
    at(`changed-${name}`),
    Buffer.concat([data.subarray(0, index), Buffer.from(text, 'latin1'), data.subarray(index)]),
  );
  return at(`changed-${name}`);
}

test('files that are not UTF-8 are rejected, even if the invalid bytes are in a part that is not used', async () => {
  const unknown = ',"more":"\xff"';
  const attestation = withBytes('attestation.json', unknown, '}');
  const jwks = withBytes('jwks.json', unknown, '}');
  const line = '\xe2\x80\x94 other\xff AQIDBAU=\n'; // A signature line of an unknown key.
  const checkpoint = withBytes('acme.checkpoint', line, '');
  for (const args of [
    ['decision', attestation, '--verify-key', at('jwks.json')],
    ['decision', at('attestation.json'), '--verify-key', jwks],
    ['ledger', at('acme.ndjson'), '--checkpoint', checkpoint, '--verify-key', at('instance.vkey')],
  ]) {
    const { status, err } = await verify(...args);
    expect([status, err]).toEqual([2, expect.stringContaining('is not UTF-8 text')]);
  }
});

test('a JWKS with an element that is not an object is rejected', async () => {
  const { keys } = JSON.parse(readFileSync(at('jwks.json'), 'utf8'));
  writeFileSync(at('null.jwks'), JSON.stringify({ keys: [null, ...keys] }));
  const { status, err } = await verify('decision', at('attestation.json'), '--verify-key', at('null.jwks'));
  expect([status, err]).toEqual([2, expect.stringContaining('contains an invalid key')]);
});

describe('verify ledger', () => {
  const against = (file: string) => ['--checkpoint', at(file), '--verify-key', at('instance.vkey')];

  test('verifies an export, alone and against a kept checkpoint', async () => {
    const { status, out } = await verify('ledger', at('acme.ndjson'));
    expect([status, out]).toEqual([0, expect.stringMatching(/^valid: \d+ entr(y|ies), head [0-9a-f]{64}\n$/)]);
    const withCheckpoint = await verify('ledger', at('acme.ndjson'), ...against('acme.checkpoint'), '--json');
    expect([withCheckpoint.status, JSON.parse(withCheckpoint.out)]).toEqual([
      0,
      expect.objectContaining({ whole: true, headsMet: 1 }),
    ]);
    const text = await verify('ledger', at('acme.ndjson'), ...against('acme.checkpoint'));
    expect(text.out).toMatch(/, matches the kept head\n$/);
  });

  test('exits with 1 and the number of the row for a changed row, and with 1 for an export without rows', async () => {
    const lines = readFileSync(at('acme.ndjson'), 'utf8').split('\n');
    writeFileSync(
      at('changed.ndjson'),
      [lines[0]!.replace('"seq":1', '"seq":1 ').replace('"actor":"', '"actor":"x'), ...lines.slice(1)].join('\n'),
    );
    const changed = await verify('ledger', at('changed.ndjson'));
    expect([changed.status, changed.out]).toEqual([1, expect.stringMatching(/^broken at seq 1: /)]);
    writeFileSync(at('cut.ndjson'), '');
    const nothing = await verify('ledger', at('cut.ndjson'));
    expect([nothing.status, nothing.out]).toEqual([1, expect.stringContaining('no rows')]);
    const cut = await verify('ledger', at('cut.ndjson'), ...against('acme.checkpoint'));
    expect([cut.status, cut.out]).toEqual([1, expect.stringMatching(/^broken: checkpoint 1: .* the log ends after 0/)]);
  });

  test('verifies against the checkpoint header that the gate printed', async () => {
    const environment = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: await server.key(await server.workspace('beta')) };
    const { out } = await runCli(['gate', '--agent', 'nobody'], { environment });
    const [header] = /Countersign-Checkpoint: .*$/m.exec(out)!;
    await runCommand(environmentOf(server), 'ledger', 'export', '--workspace', 'beta', '--output', at('beta.ndjson'));
    expect((await verify('ledger', at('beta.ndjson'), '--head', header)).status).toBe(0);
    expect((await verify('ledger', at('acme.ndjson'), '--head', header)).status).toBe(1);
  });

  test('exits with 2 for a missing file, an export of another log, and a checkpoint that is malformed or of another log', async () => {
    const none = await verify('ledger', at('none.ndjson'));
    expect([none.status, none.out, none.err]).toEqual([2, '', expect.stringContaining('cannot read')]);
    await runCommand(
      environmentOf(server),
      ...['ledger', 'export', '--workspace', 'acme', '--log', 'decisions', '--output', at('d.ndjson')],
    );
    await runCommand(
      environmentOf(server),
      ...['ledger', 'export', '--workspace', 'acme', '--log', 'keys', '--output', at('k.ndjson')],
    );
    const keys = await verify('ledger', at('k.ndjson'), '--log', 'keys');
    expect([keys.status, keys.out]).toEqual([0, expect.stringMatching(/^valid: \d+ entries, head/)]);
    const decisions = await verify('ledger', at('d.ndjson'));
    expect([decisions.status, decisions.out, decisions.err]).toEqual([2, '', expect.stringContaining('--log decisions')]);
    const replayed = await verify('ledger', at('d.ndjson'), '--log', 'decisions', '--replay', folder);
    expect([replayed.status, replayed.err]).toEqual([2, expect.stringContaining(`cannot read ${JSON.stringify(folder)}`)]);
    const otherLog = await verify('ledger', at('acme.ndjson'), '--replay', at('d.ndjson'));
    expect([otherLog.status, otherLog.err]).toEqual([2, expect.stringContaining('--log must be decisions')]);
    await runCommand(
      environmentOf(server),
      ...['ledger', 'checkpoint', '--workspace', 'acme', '--log', 'decisions', '--output', at('d.checkpoint')],
    );
    for (const option of ['--audit', '--replay']) {
      const { status, out, err } = await verify('ledger', at('d.ndjson'), '--log', 'decisions', option, at('d.ndjson'));
      expect([status, out, err]).toEqual([2, '', expect.stringContaining(`${option} must be the export of the`)]);
    }
    for (const [file, why] of [
      ['acme.ndjson', 'is not a checkpoint'],
      ['d.checkpoint', 'is a checkpoint of the log decisions'],
    ] as const) {
      const { status, err } = await verify('ledger', at('acme.ndjson'), ...against(file));
      expect([status, err]).toEqual([2, expect.stringContaining(why)]);
    }
  });
});
