import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { publicJwk } from '@countersign/core/domain/attestation';
import { successionMessage } from '@countersign/core/domain/signing-key-succession';
import pino from 'pino';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sha256 } from '../../src/crypto/digests.ts';
import { openSigner, type PublishedKey } from '../../src/secrets/instance-signer.ts';
import { findInstance } from '../../src/storage/instance.ts';
import { SIGNING_KEYS } from '../../src/storage/signing-keys.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { resealRows } from '../harness/sealed.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { bytesLiteral, insertRow, textLiteral } from './insert-row.ts';

/** Attack G of docs/threat-model.md: the owner of the database inserts a row into `signing_keys`. */

const lines: string[] = [];
const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });

let server: TestServer;
let instanceId: string;
let genuineKid: string;
beforeAll(async () => {
  server = await testServer({ log });
  await server.workspace('victim');
  instanceId = server.open.signer.instanceId;
  [genuineKid] = (await kids()) as [string];
});
afterEach(() => server.database.sql('DELETE FROM countersign.signing_keys WHERE kid <> $1', [genuineKid]));

const jwks = async () => ((await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as { keys: PublishedKey[] }).keys;
const kids = async () => (await jwks()).map(({ kid }) => kid);
const newKey = () => generateKeyPairSync('ed25519').privateKey;
const publicKeyOf = (key: KeyObject) => new Uint8Array(Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url'));
const kidOf = (key: KeyObject) => publicJwk(publicKeyOf(key), sha256).kid;

/** Inserts the row of a key, with `columns` that the attacker chose. Returns the ID of the key. */
async function insertKey(key: KeyObject, columns: Record<string, string> = {}): Promise<string> {
  const row = {
    kid: textLiteral(kidOf(key)),
    public_key: bytesLiteral(publicKeyOf(key)),
    created_at: 'clock_timestamp()',
    ...columns,
  };
  await insertRow(server.database, 'signing_keys', row);
  return kidOf(key);
}

/** The columns with the signature by which one key endorses another. */
const crossSignature = (by: KeyObject, predecessor: string, successor: KeyObject, instance = instanceId) => ({
  predecessor: textLiteral(predecessor),
  predecessor_signature: bytesLiteral(new Uint8Array(sign(null, successionMessage(instance, predecessor, kidOf(successor)), by))),
});

describe.each(['without a secret', 'with the master secret, but without the signing key'])(
  'the server, under attack G %s,',
  (who) => {
    const insertedKeys: [string, (key: KeyObject) => Record<string, string>][] = [
      ['without a predecessor', () => ({})],
      ['with a cross-signature by another key', (key) => crossSignature(newKey(), genuineKid, key)],
      ['with a cross-signature by itself', (key) => crossSignature(key, genuineKid, key)],
      ['that names itself as its predecessor', (key) => crossSignature(key, kidOf(key), key)],
      ['with a predecessor that is not listed', (key) => crossSignature(key, 'nobody', key)],
      ['with a predecessor and no signature', () => ({ predecessor: textLiteral(genuineKid) })],
    ];
    test.each(insertedKeys)('reports an inserted key %s, and does not publish or accept it', async (_what, columnsOf) => {
      const key = newKey();
      const kid = await insertKey(key, columnsOf(key));
      if (who.startsWith('with the')) await resealRows(server, SIGNING_KEYS, 'kid = $1', [kid]);
      expect(await kids()).toEqual([genuineKid]);
      expect(lines.join('')).toContain(kid);
      const showResult = await runCommand(environmentOf(server), 'signing-key', 'show');
      expect([showResult.status, showResult.out.includes(kid), showResult.err.includes(kid)]).toEqual([0, false, true]);
      const environment = {
        ...environmentOf(server),
        COUNTERSIGN_SIGNING_KEY: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
      expect(await runCommand(environment, 'signing-key', 'show')).toMatchObject({ status: 9, out: '' });
    });

    test('does not publish two keys that endorse each other', async () => {
      const [one, other] = [newKey(), newKey()];
      await insertKey(one, crossSignature(other, kidOf(other), one));
      await insertKey(other, crossSignature(one, kidOf(one), other));
      if (who.startsWith('with the')) await resealRows(server, SIGNING_KEYS, 'kid <> $1', [genuineKid]);
      expect(await kids()).toEqual([genuineKid]);
    });
  },
);

describe('a key signed by its predecessor', () => {
  const rotate = async () => {
    const next = newKey();
    const secrets = { ...server.open.secrets, signingKey: next, previousSigningKey: server.open.secrets.signingKey };
    await openSigner(server.open.pool, (await findInstance(server.open.pool))!, secrets);
    return next;
  };

  test('is published with the ID and signature of its predecessor', async () => {
    const next = await rotate();
    expect(await jwks()).toEqual([
      expect.not.objectContaining({ predecessor: expect.anything() }),
      expect.objectContaining({
        kid: kidOf(next),
        predecessor: genuineKid,
        predecessor_signature: expect.stringMatching(/^.{86}==$/),
      }),
    ]);
  });

  test.each([
    [`predecessor_signature = decode(repeat('00', 64), 'hex')`],
    [`predecessor = NULL, predecessor_signature = NULL`],
    [`predecessor = NULL, predecessor_signature = NULL, reset_from = predecessor`],
    [`predecessor_signature = NULL`],
  ])('is no longer published after SET %s', async (set) => {
    const kid = kidOf(await rotate());
    expect(await kids()).toContain(kid);
    await server.database.sql(`UPDATE countersign.signing_keys SET ${set} WHERE kid = $1`, [kid]);
    expect(await kids()).toEqual([genuineKid]);
  });

  test('is rejected while the row of its predecessor is missing: every message names that row, and a request for the JWKS gets 500', async () => {
    const { sql } = server.database;
    const next = await rotate();
    await sql('CREATE TABLE public.kept_predecessor AS SELECT * FROM countersign.signing_keys WHERE kid = $1', [genuineKid]);
    await sql('DELETE FROM countersign.signing_keys WHERE kid = $1', [genuineKid]);
    const fault = `the row of its predecessor ${genuineKid} is missing or not valid`;
    const response = await fetch(`${server.url}/.well-known/jwks.json`);
    expect([response.status, await response.json()]).toEqual([500, expect.objectContaining({ error: 'seal_broken' })]);
    expect(lines.join('')).toContain(fault);
    const { warnings } = (await (await fetch(`${server.url}/readyz`)).json()) as { warnings: string[] };
    expect(warnings.join()).toContain(fault);
    const COUNTERSIGN_SIGNING_KEY = next.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(await runCommand({ ...environmentOf(server), COUNTERSIGN_SIGNING_KEY }, 'signing-key', 'show')).toMatchObject({
      status: 9,
      err: expect.stringContaining(`${fault}; restore the row of ${genuineKid} from a backup`),
    });
    await sql('INSERT INTO countersign.signing_keys SELECT * FROM public.kept_predecessor');
    expect(await kids()).toEqual([genuineKid, kidOf(next)]);
  });
});

test('`signing-key reset` is refused with a reason when all keys were retired in the database', async () => {
  const { sql } = server.database;
  await sql('UPDATE countersign.signing_keys SET retired_at = clock_timestamp()');
  await resealRows(server, SIGNING_KEYS);
  const COUNTERSIGN_SIGNING_KEY = newKey().export({ format: 'pem', type: 'pkcs8' }).toString();
  expect(await runCommand({ ...environmentOf(server), COUNTERSIGN_SIGNING_KEY }, 'signing-key', 'reset', '--yes')).toMatchObject({
    status: 9,
    err: expect.stringContaining('no signing key of this database is current'),
  });
  await sql('UPDATE countersign.signing_keys SET retired_at = NULL');
  await resealRows(server, SIGNING_KEYS);
  expect(await kids()).toEqual([genuineKid]);
});

test('`signing-key reset` is refused with a reason when all rows of signing_keys were deleted', async () => {
  const { sql } = server.database;
  await sql('CREATE TABLE public.kept_signing_keys AS TABLE countersign.signing_keys');
  await sql('DELETE FROM countersign.signing_keys');
  expect(await runCommand(environmentOf(server), 'signing-key', 'reset', '--yes')).toMatchObject({
    status: 9,
    err: expect.stringContaining('this database has no signing keys'),
  });
  await sql('INSERT INTO countersign.signing_keys SELECT * FROM public.kept_signing_keys');
  expect(await kids()).toEqual([genuineKid]);
});
