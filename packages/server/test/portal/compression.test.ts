import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { get, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { PortalRoute } from '@countersign/core/portal/route';
import { PORTAL_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import Fastify from 'fastify';
import type { TObject } from 'typebox';
import { beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../src/errors/api-error.ts';
import { preferredEncoding } from '../../src/http/accept-encoding.ts';
import { Compressor } from '../../src/http/compressor.ts';
import { replyError } from '../../src/http/error-reply.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const ENTRIES = 60;
const routes = Object.entries<PortalRoute>(PORTAL_ROUTES);

let server: TestServer;
let workspace: string;
let admin: PortalClient;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  const key = await server.key(workspace);
  for (let number = 1; number <= ENTRIES; number += 1) {
    const entry = { actor: 'ci', action: 'deploy.started', subject: `release ${number}`, metadata: { run: number } };
    expect((await server.post(paths.audit, key, entry)).status).toBe(200);
  }
  admin = await portalClient(server, workspace, 'admin');
});

interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body as received, without decompression. */
  bytes: Buffer;
}

/** Requests a path without decompressing the response. */
function requestRaw(path: string, acceptEncoding?: string, cookie = admin.browser.cookie!): Promise<RawResponse> {
  const headers = { cookie, ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }) };
  return new Promise((resolve, reject) => {
    get(server.url + path, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
      response.on('error', reject);
    }).on('error', reject);
  });
}

/** Blocks all threads of Node's pool until the returned function is called. These threads also compress responses. */
function blockThreads(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-fifo-'));
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Opening a FIFO for reading waits for a writer.
  const readers = Array.from({ length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) }, () => open(fifo, 'r'));
  return async () => {
    const writer = openSync(fifo, 'r+');
    for (const reader of readers) await (await reader).close();
    closeSync(writer);
    rmSync(folder, { recursive: true });
  };
}

const pathOf = (name: RouteName): string => PORTAL_ROUTES[name].path.replace(':workspace', workspace);
const uncompressedBody = async (path: string): Promise<Buffer> => (await requestRaw(path)).bytes;

describe("JSON responses of the portal's API", () => {
  test.each([
    ['br', 'gzip, deflate, br, zstd', brotliDecompressSync],
    ['gzip', 'gzip, deflate', gunzipSync],
    ['gzip', 'br;q=0.1, gzip', gunzipSync],
  ] as const)(
    'are compressed with %s for a client that accepts %j, with the same content',
    async (encoding, accepted, decompress) => {
      const path = `${pathOf('ledger.list')}?limit=50`;
      const { status, headers, bytes } = await requestRaw(path, accepted);
      expect([status, headers['content-encoding'], headers.vary]).toEqual([200, encoding, 'accept-encoding']);
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(Number(headers['content-length'])).toBe(bytes.length);
      const content = await uncompressedBody(path);
      expect(decompress(bytes)).toEqual(content);
      expect(bytes.length).toBeLessThan(content.length * 0.5);
    },
  );

  test.each([undefined, '', 'identity', 'deflate', 'br;q=0, gzip;q=0.000'])(
    'are not compressed for a client that accepts %j',
    async (accepted) => {
      const { headers, bytes } = await requestRaw(pathOf('ledger.list'), accepted);
      expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'accept-encoding']);
      expect(JSON.parse(bytes.toString()).items.length).toBeGreaterThan(1);
    },
  );

  test('are not compressed when small', async () => {
    const { status, headers, bytes } = await requestRaw(pathOf('workspace.read'), 'gzip, br');
    expect([status, headers['content-encoding']]).toEqual([200, undefined]);
    expect(JSON.parse(bytes.toString()).id).toBe(workspace);
  });

  test('are not compressed on excluded routes, however large', async () => {
    const roles = Object.fromEntries(
      await Promise.all(Array.from({ length: 12 }, async () => [await server.workspace(), 'admin'])),
    );
    const { browser } = await createPerson(server, { ...roles, [workspace]: 'admin' });
    for (let number = 0; number < 10; number += 1) {
      const body = { email: `invited-${number}@example.com`, role: 'viewer' };
      expect((await browser.call('POST', pathOf('invitations.create').slice('/api/portal'.length), body)).status).toBe(200);
    }
    for (const name of ['session.show', 'invitations.list'] as const) {
      const { headers, bytes } = await requestRaw(pathOf(name), 'gzip, br', browser.cookie);
      expect([name, headers['content-encoding'], headers.vary]).toEqual([name, undefined, undefined]);
      expect(bytes.length).toBeGreaterThan(1_400);
    }
  });

  test('are compressed at most two at a time; other responses are meanwhile sent uncompressed', async () => {
    const received: unknown[] = [];
    const release = blockThreads();
    const requests = Array.from({ length: 5 }, async () => {
      const { status, headers } = await requestRaw(`${pathOf('ledger.list')}?limit=50`, 'gzip');
      received.push([status, headers['content-encoding']]);
    });
    try {
      await expect.poll(() => received).toEqual(Array.from({ length: 3 }, () => [200, undefined]));
    } finally {
      await release();
    }
    await Promise.all(requests);
    expect(received.slice(3)).toEqual(Array.from({ length: 2 }, () => [200, 'gzip']));
  });
});

test('Compressor compresses two texts at a time, and none longer than 4 MiB', async () => {
  const compressor = new Compressor();
  const text = JSON.stringify(Array.from({ length: 5_000 }, (_, number) => ({ number })));
  const results = await Promise.all(Array.from({ length: 5 }, () => compressor.compress(text, 'gzip')));
  expect(results.map((each) => each?.encoding)).toEqual(['gzip', 'gzip', undefined, undefined, undefined]);
  expect((await compressor.compress(text, 'br'))?.encoding).toBe('br');
  expect(await compressor.compress('x'.repeat(5_000_000), 'br')).toBeUndefined();
  const fourMiB = 'é'.repeat(2 * 1024 * 1024);
  expect((await compressor.compress(fourMiB, 'br'))?.encoding).toBe('br');
  expect(await compressor.compress(`${fourMiB}.`, 'br')).toBeUndefined();
});

test('an error response does not have the content-encoding and content-disposition of the intended response', async () => {
  const app = Fastify();
  app.decorateRequest('refusal', undefined);
  app.setErrorHandler(replyError);
  app.get('/', async (_request, reply) => {
    void reply.headers({ 'content-encoding': 'br', 'content-disposition': 'attachment', 'content-length': '1' });
    throw new ApiError('not_found');
  });
  const { statusCode, headers, body } = await app.inject('/');
  expect([statusCode, headers['content-encoding'], headers['content-disposition']]).toEqual([404, undefined, undefined]);
  expect(JSON.parse(body)).toEqual({ error: 'not_found', issues: [] });
});

test.each([
  [undefined, undefined],
  ['*', 'br'],
  ['*;q=0.1, br;q=0', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip; q=0.5, br; q=0.4', 'gzip'],
  ['gzip;q=abc', undefined],
  ['xgzip, brotli', undefined],
  ['gzip;level=1;q=0', undefined],
])('preferredEncoding of Accept-Encoding %s is %s', (accepted, expected) => {
  expect(preferredEncoding(accepted, ['br', 'gzip'])).toBe(expected);
});

describe('the table of routes', () => {
  const uncompressed = routes.filter(([, { compressed }]) => !compressed);

  // Listed by hand: compression can reveal a secret in a response (BREACH), so each change of the list needs a decision.
  test('excludes from compression exactly the JSON responses in this list', () => {
    expect(uncompressed.flatMap(([name, { response }]) => (response === undefined ? [] : [name])).sort()).toEqual(
      [
        ...[
          'account.change_password',
          'account.rename',
          'decision_keys.show',
          'keys.mint',
          'keys.rotate',
          'members.reset_password',
        ],
        ...['invitations.create', 'invitations.list', 'invitations.withdraw'],
        ...['links.accept_invitation', 'links.reset_password', 'links.set_up', 'links.show', 'links.sign_in'],
        ...['session.show', 'session.sign_in', 'session.sign_out', 'sessions.end', 'sessions.list'],
      ].sort(),
    );
  });

  test('excludes from compression every file, every response outside a workspace, and responses with a member named like a secret', () => {
    const names = new Set(uncompressed.map(([name]) => name));
    const secret = /^(key|decision_key|path|link|url|token|secret|password)$/;
    const mustBeExcluded = routes.filter(
      ([, { access, response }]) =>
        response === undefined ||
        ['anyone', 'person'].includes(access) ||
        Object.keys((response as TObject).properties).some((member) => secret.test(member)),
    );
    expect(mustBeExcluded.map(([name]) => name).filter((name) => !names.has(name))).toEqual([]);
    expect(mustBeExcluded.length).toBeGreaterThan(20);
  });
});
