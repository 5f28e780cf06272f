import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { runCli } from '../fixtures/run-cli.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace('acme');
  key = await server.key(tenantId);
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'good', pass_rate: 92.5 });
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'risky', pass_rate: 99 });
  await operate('agents', 'risk', '--workspace', 'acme', '--agent', 'risky', 'high');
});
afterEach(() => vi.restoreAllMocks());

const operate = (...args: string[]) => runCommand(environmentOf(server), ...args);

/** A proxy to the real server. The proxy does not listen until `open` is called. */
async function createLateProxy(): Promise<{ url: string; open(): Promise<void>; close(): void }> {
  const proxy: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { authorization = '', prefer = '', 'countersign-nonce': nonce = '' } = request.headers;
    const real = await fetch(server.url + request.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization, prefer: String(prefer), 'countersign-nonce': String(nonce) },
      body: Buffer.concat(chunks),
    });
    const headers = Object.fromEntries([...real.headers].filter(([name]) => /^(content-type|countersign-.*)$/.test(name)));
    response.writeHead(real.status, headers).end(await real.text());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  proxy.close();
  return {
    url: `http://127.0.0.1:${port}`,
    open: async () => {
      if (proxy.listening) return;
      proxy.listen(port, '127.0.0.1');
      await once(proxy, 'listening');
    },
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

describe('gate with an unreachable service', () => {
  test('retries more than five times within --timeout', async () => {
    const lateProxy = await createLateProxy();
    vi.spyOn(Math, 'random').mockReturnValue(0); // no pauses between the attempts
    let attempts = 0;
    const fetchAndOpen: typeof fetch = async (...call) => {
      attempts += 1;
      if (attempts === 12) await lateProxy.open();
      return fetch(...call);
    };
    const environment = { COUNTERSIGN_URL: lateProxy.url, COUNTERSIGN_API_KEY: key };
    const { status, out } = await runCli(['gate', '--agent', 'good', '--timeout', '1m'], { environment, fetch: fetchAndOpen });
    lateProxy.close();
    expect([status, attempts, out]).toEqual([0, 12, expect.stringContaining('ALLOWED: good')]);
  });

  test('with --wait retries until the service responds, and then waits for the approval', async () => {
    const lateProxy = await createLateProxy();
    const environment = { COUNTERSIGN_URL: lateProxy.url, COUNTERSIGN_API_KEY: key };
    let pauses = 0;
    const sleep = async () => {
      pauses += 1;
      if (pauses === 3) await lateProxy.open();
      if (pauses !== 5) return;
      lateProxy.close();
      const result = await runCli(['gate', '--agent', 'risky', '--json'], {
        environment: { ...environment, COUNTERSIGN_URL: server.url },
      });
      const evaluation = JSON.parse(result.out).decision.evaluation_id;
      const args = ['--workspace', 'acme', '--evaluation', evaluation, '--rationale', 'test'];
      expect((await operate('approvals', 'approve', ...args)).status).toBe(0);
      await lateProxy.open();
    };
    const args = ['gate', '--agent', 'risky', '--timeout', '1s', '--wait', '30m'];
    const { status, out, err } = await runCli(args, { environment, sleep });
    lateProxy.close();
    expect([status, out]).toEqual([0, expect.stringContaining('ALLOWED: risky')]);
    expect(err).toMatch(/^waiting up to 30 min for the service: .*cannot be reached/m);
    expect(err).toMatch(/^waiting up to 30 min for an approval/m);
  });

  test('ends the wait when the time of --wait is over, even if the clock of the machine is set back', async () => {
    const lateProxy = await createLateProxy();
    let waited = 0;
    const { status } = await runCli(['gate', '--agent', 'good', '--timeout', '50ms', '--wait', '10s'], {
      environment: { COUNTERSIGN_URL: lateProxy.url, COUNTERSIGN_API_KEY: key },
      now: () => Date.now() - waited * 3600,
      elapsed: () => waited,
      sleep: async (ms) => {
        if (waited > 60_000) throw new Error('the wait has no end');
        waited += ms;
      },
    });
    expect([status, waited]).toEqual([3, 10_000]);
  });

  test('exits with 3 when the time of --wait is over', async () => {
    const lateProxy = await createLateProxy();
    let clock = Date.now();
    const overrides = {
      environment: { COUNTERSIGN_URL: lateProxy.url, COUNTERSIGN_API_KEY: key },
      elapsed: () => clock,
      sleep: async (ms: number) => {
        clock += ms;
      },
    };
    const startedAt = clock;
    const unreachable = await runCli(['gate', '--agent', 'good', '--timeout', '50ms', '--wait', '10s'], overrides);
    expect([unreachable.status, clock - startedAt]).toEqual([3, 10_000]);
  });
});

test('gate with --wait exits with 3 and does not wait if the service rejects the key', async () => {
  const wrongKey = `${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`;
  const { status, out } = await runCli(['gate', '--agent', 'good', '--wait', '30m'], {
    environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: wrongKey },
    sleep: () => Promise.reject(new Error('it waited')),
  });
  expect([status, out]).toEqual([3, expect.stringContaining('401')]);
});

describe('approval link of the gate', () => {
  const runPendingGate = async (environment: Record<string, string> = {}) => {
    await server.post(paths.evaluations, key, { name: 'again', agent_name: 'risky', pass_rate: 98 });
    const overrides = { environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key, ...environment } };
    const { status, out } = await runCli(['gate', '--agent', 'risky', '--json'], overrides);
    expect(status).toBe(4);
    const { approve_at, decision } = JSON.parse(out);
    return { approveAt: approve_at, page: `/w/${tenantId}/approvals/${decision.evaluation_id}` };
  };

  test('is the address of the evaluation in the portal', async () => {
    const { approveAt, page } = await runPendingGate();
    expect(approveAt).toBe(server.url + page);
  });

  test.each(['https://portal.example.test', 'https://portal.example.test/', 'https://portal.example.test/w/acme'])(
    'uses the portal in COUNTERSIGN_PORTAL_URL, given as %s',
    async (portal) => {
      const { approveAt, page } = await runPendingGate({ COUNTERSIGN_PORTAL_URL: portal });
      expect(approveAt).toBe(`https://portal.example.test${page}`);
    },
  );
});
