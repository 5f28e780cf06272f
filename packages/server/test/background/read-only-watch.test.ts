import { expect, test, vi } from 'vitest';
import { paths, testServer } from '../harness/test-server.ts';

test('/readyz warns while the database is read-only, and requests that send records get 503', async () => {
  const { database, ...server } = await testServer();
  const key = await server.key(await server.workspace());
  const readWarnings = async () =>
    ((await (await fetch(`${server.url}/readyz`)).json()) as { warnings?: string[] }).warnings?.join() ?? '';
  const setReadOnly = (value: 'on' | 'off') =>
    database.sql(`ALTER DATABASE ${database.server.database} SET default_transaction_read_only = ${value}`);
  expect(await readWarnings()).not.toContain('read-only');
  await setReadOnly('on');
  // Open sessions keep the setting that they started with, so they are ended.
  await database.sql(`SET default_transaction_read_only = off; SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE datname = current_database() AND usename = '${database.server.user}'`);
  await vi.waitFor(async () => expect(await readWarnings()).toContain('the database is read-only'), 10_000);
  const entry = { actor: 'me', action: 'note' };
  expect((await server.post(paths.audit, key, entry)).status).toBe(503);
  await setReadOnly('off');
  await vi.waitFor(async () => expect(await readWarnings()).not.toContain('read-only'), 10_000);
  // A request that uses a session from the read-only time gets 503, and the server replaces this session.
  await vi.waitFor(async () => expect((await server.post(paths.audit, key, entry)).status).toBe(200), 10_000);
});
