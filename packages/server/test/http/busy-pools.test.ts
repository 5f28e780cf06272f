import { beforeAll, expect, test } from 'vitest';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

test.for(['readPool', 'ledgerPool'] as const)(
  'the server accepts records and is ready while all connections of the %s are busy',
  async (name) => {
    const workspace = await server.workspace();
    const key = await server.key(workspace);
    const pool = server.open[name];
    const busy = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    try {
      expect((await server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' })).status).toBe(200);
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    } finally {
      for (const client of busy) client.release();
    }
  },
);
