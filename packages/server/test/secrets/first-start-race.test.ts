import { generateKeyPairSync } from 'node:crypto';
import type { Pool, QueryResult } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPool } from '../../src/database/pool.ts';
import { shareSeals } from '../../src/database/seals.ts';
import { openSigner } from '../../src/secrets/instance-signer.ts';
import { findInstance, type Instance } from '../../src/storage/instance.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let instance: Instance;
beforeAll(async () => {
  server = await testServer({});
  instance = (await findInstance(server.open.pool))!;
});

const pools: Pool[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

/** Opens the pool of a server that loses a race: after its first query, another server runs `step`. */
function openRacingPool(step: () => Promise<unknown>): Pool {
  const pool = openPool(server.open.address, { size: 1, name: 'test' });
  shareSeals([pool], server.open.secrets.masterSecret);
  pools.push(pool);
  const query = pool.query.bind(pool) as (text: string, values?: unknown[]) => Promise<QueryResult>;
  let isFirst = true;
  const racingQuery = async (text: string, values?: unknown[]) => {
    const result = await query(text, values);
    if (isFirst) {
      isFirst = false;
      await step();
    }
    return result;
  };
  return Object.assign(pool, { query: racingQuery });
}

const keyIdsOf = ({ keys }: Awaited<ReturnType<typeof openSigner>>) => keys.map(({ keyid }) => keyid);

test('a server starts with its first key when another server adds this key to the database at the same time', async () => {
  const { pool, secrets } = server.open;
  await server.database.sql('DELETE FROM countersign.signing_keys');
  const signer = await openSigner(
    openRacingPool(() => openSigner(pool, instance, secrets)),
    instance,
    secrets,
  );
  expect(keyIdsOf(signer)).toEqual(keyIdsOf(server.open.signer));
});

test('a server starts with both keys when another server adds the next key to the database at the same time', async () => {
  const { pool, secrets } = server.open;
  const { privateKey } = generateKeyPairSync('ed25519');
  const rotated = { ...secrets, signingKey: privateKey, previousSigningKey: secrets.signingKey };
  const other = () => openSigner(pool, instance, rotated);
  const signer = await openSigner(openRacingPool(other), instance, rotated);
  expect(keyIdsOf(signer)).toEqual(keyIdsOf(await other()));
  expect(signer.keys).toHaveLength(2);
});
