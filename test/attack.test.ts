import { spawnSync } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { AttackOptions } from '../attack/attack.ts';
import { ATTACKS } from '../attack/attacks.ts';
import { openSocket, requireLoopback } from '../attack/loopback.ts';
import { readOptions } from '../attack/options.ts';
import { Random } from '../attack/random.ts';
import { RequestFuzzer } from '../attack/request-fuzzer.ts';
import { Caller, httpText } from '../attack/requests.ts';
import type { Target } from '../attack/target.ts';

const command = fileURLToPath(new URL('../attack/run.ts', import.meta.url));
const attack = (...args: string[]) => spawnSync(process.execPath, [command, ...args], { encoding: 'utf8', timeout: 290_000 });

describe('npm run attack', () => {
  test.each(['10.0.0.1', '0.0.0.0', '::', 'localhost', 'example.com', '127.0.0.1.example.com', ''])(
    'rejects the address %j',
    (host) => {
      expect(() => requireLoopback(host)).toThrow('only a loopback address');
      expect(() => openSocket({ host, port: 9 })).toThrow('only a loopback address');
    },
  );

  test('rejects invalid options', () => {
    expect(() => readOptions(['--only', 'nothing'])).toThrow('--only takes pipelined-flood');
    expect(() => readOptions(['--seconds', '100000'])).toThrow('--seconds must be a whole number from 1 to 300');
  });

  test('exits with 2 for an invalid option and prints no table', () => {
    const { status, stdout, stderr } = attack('--host', '192.0.2.1');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('only a loopback address');
  });

  test('prints a table row and exits with 0 if every bound and promise of an attack holds', { timeout: 300_000 }, () => {
    const { status, stdout, stderr } = attack('--only', 'killed-processes', '--seconds', '1');
    expect({ status, broken: stderr.match(/broken:.*/g) }).toEqual({ status: 0, broken: null });
    expect(stdout).toMatch(/^\| `killed-processes` \| .* \| 0 \| holds \|$/m);
  });

  test('generates the same requests from the same seed, and other requests from another seed', () => {
    const workspace = { tenantId: '00000000-0000-7000-8000-000000000000', key: 'key', cookie: 'countersign=x' };
    const subject = { ...workspace, readToken: 'token', spareCookies: ['countersign=y'], values: {} };
    const requests = (seed: number) => {
      const fuzzer = new RequestFuzzer(new Random(seed), subject);
      return Array.from({ length: 200 }, () => fuzzer.next().bytes.toString('latin1'));
    };
    expect(requests(7)).toEqual(requests(7));
    expect(requests(7)).not.toEqual(requests(8));
    expect(new Set(requests(7)).size).toBeGreaterThan(150);
  });

  test('the pipelined flood reports a violation if the server rejects every first request', async () => {
    const violationsOf = async (statusLine: string) => {
      const server = createServer((socket) => socket.end(`HTTP/1.1 ${statusLine}\r\nContent-Length: 0\r\n\r\n`));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const target = { host: '127.0.0.1', port, metric: async () => 1 } as unknown as Target;
      const { violations } = await ATTACKS['pipelined-flood'].run(target, { seconds: 0.2 } as AttackOptions);
      server.close();
      return violations;
    };
    expect(await violationsOf('503 Service Unavailable')).toHaveLength(1);
    expect(await violationsOf('200 OK')).toEqual([]);
  });

  test('every attack has a bound or a promise', () => {
    for (const [name, each] of Object.entries(ATTACKS)) {
      const hasBoundOrPromise = Object.keys(each.bounds).length > 0 || 'promise' in each;
      expect([name, hasBoundOrPromise]).toEqual([name, true]);
    }
  });
});

test('a caller opens a new connection if the server has closed its connection between two requests', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      setTimeout(() => socket.destroy(), 20);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const caller = new Caller({ host: '127.0.0.1', port: (server.address() as { port: number }).port });
  const statuses: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    statuses.push((await caller.send(httpText('GET', '/', {}), 2_000)).status);
    await sleep(200);
  }
  expect(statuses).toEqual([200, 200, 200]);
  caller.close();
  server.close();
});
