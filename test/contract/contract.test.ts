import { expect, test } from 'vitest';
import { testServer } from '../../packages/server/test/harness/test-server.ts';
import { checkContract } from './contract-checks.ts';

test('the POST endpoints below /api/public/ and /api/v1/ follow the OpenAPI document of the server', async () => {
  const server = await testServer();
  const tenantId = await server.workspace();
  const [key, audit, telemetry] = await Promise.all([
    server.key(tenantId),
    server.key(tenantId, ['audit']),
    server.key(tenantId, ['telemetry']),
  ]);
  const checks = await checkContract({ url: server.url, key, keyWithout: (scope) => (scope === 'audit' ? telemetry : audit) });
  expect(checks.filter(({ fault }) => fault !== undefined)).toEqual([]);
  expect(checks.length).toBeGreaterThan(100);
});
