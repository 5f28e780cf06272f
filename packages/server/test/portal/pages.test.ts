import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBuiltPages } from '../../src/portal/built-pages.ts';
import { registerPages } from '../../src/portal/pages.ts';
import { securityHeaders } from '../../src/portal/security-headers.ts';

const INDEX = '<!doctype html><title>Countersign</title><script type="module" src="/assets/index-abc.js"></script>';
const SCRIPT = 'console.log("the portal")';
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
let folder: string;
let app: FastifyInstance;

const pagesOf = (from: string) => {
  const pages = Fastify();
  registerPages(pages, { files: readBuiltPages(from), headers: securityHeaders({ isTls: false }) });
  return pages;
};
const get = (url: string, headers: Record<string, string> = {}, from = app) => from.inject({ url, headers });

/** Requests a page with this request target. Node's client sends it unchanged; fetch would normalize it. */
const responseTo = (path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo;
    const clientRequest = request({ port, path, headers: HTML }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve(text));
    });
    clientRequest.on('error', reject).end();
  });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-pages-'));
  mkdirSync(join(folder, 'dist/assets'), { recursive: true });
  writeFileSync(join(folder, 'secret.txt'), 'not for anybody');
  writeFileSync(join(folder, 'dist/index.html'), INDEX);
  writeFileSync(join(folder, 'dist/.built'), '');
  writeFileSync(join(folder, 'dist/assets/index-abc.js'), SCRIPT);
  writeFileSync(join(folder, 'dist/assets/index-abc.js.br'), brotliCompressSync(SCRIPT));
  writeFileSync(join(folder, 'dist/assets/index-abc.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(folder, 'dist/favicon.svg'), '<svg/>');
  app = pagesOf(join(folder, 'dist'));
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('registerPages', () => {
  test.each(['/', '/?a=b', '/link', '/workspaces/0198f1c2/runs?agent=a', '/w/acme/runs/v1.2'])(
    'serves the page at %s to a browser, which must not cache it',
    async (url) => {
      const { statusCode, headers, body } = await get(url, HTML);
      expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      expect(body).toBe(INDEX);
      expect(headers['content-security-policy']).toContain("script-src 'self';");
    },
  );

  test('lets clients cache files with a hash in the name for a year, and makes them revalidate other files', async () => {
    const { headers, body } = await get('/assets/index-abc.js');
    expect(body).toBe(SCRIPT);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
    });
    const icon = await get('/favicon.svg');
    expect(icon.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'image/svg+xml' });
    const { etag } = icon.headers;
    for (const ifNoneMatch of [`${etag}`, `W/${etag}`, `"other", ${etag}`, '*'])
      expect([ifNoneMatch, (await get('/favicon.svg', { 'if-none-match': ifNoneMatch })).statusCode]).toEqual([ifNoneMatch, 304]);
    expect((await get('/favicon.svg', { 'if-none-match': '"other"' })).statusCode).toBe(200);
  });

  test('serves the compressed files of the build to clients that accept them', async () => {
    const encoded = async (accepted: string) => {
      const { headers, rawPayload } = await get('/assets/index-abc.js', { 'accept-encoding': accepted });
      expect(headers.vary).toBe('accept-encoding');
      return [headers['content-encoding'], rawPayload] as const;
    };
    const [br, brBytes] = await encoded('gzip, deflate, br, zstd');
    expect([br, brotliDecompressSync(brBytes).toString()]).toEqual(['br', SCRIPT]);
    const [gzip, gzipBytes] = await encoded('gzip, br;q=0');
    expect([gzip, gunzipSync(gzipBytes).toString()]).toEqual(['gzip', SCRIPT]);
    expect((await encoded('identity'))[0]).toBeUndefined();
  });

  test.each(['', '/', '/index.html', '/link', '/?a=b'])(
    'serves the page if the request line has the whole URL http://localhost followed by %j',
    async (path) => {
      expect(await responseTo(`http://localhost${path}`)).toContain(INDEX);
    },
  );

  test('serves a file if the request line has a whole URL, an escaped path or a query', async () => {
    for (const path of ['http://localhost/favicon.svg', '/f%61vicon.svg', '/favicon.svg?a=/api'])
      expect([path, await responseTo(path)]).toEqual([path, '<svg/>']);
  });

  test.each([
    '/api/portal/nothing',
    '/api',
    '/api/public/nothing',
    '/.well-known/nothing',
    '/assets/gone-def.js',
    '/%61pi/nothing',
    '/api%2Fnothing',
  ])('responds with 404 at %s, even to a browser', async (url) => {
    expect([url, (await get(url, HTML)).statusCode]).toEqual([url, 404]);
  });

  test('responds with 404 at a path of the API in a whole URL, even to a browser', async () => {
    expect(await responseTo('http://localhost/api/nothing')).toContain('not_found');
  });

  test.each([
    '/assets/../../secret.txt',
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/../secret.txt',
    '//secret.txt',
    '/..%2fsecret.txt',
  ])('serves no file outside the folder: %s', async (path) => {
    const text = await responseTo(path);
    expect(text).not.toBe('');
    expect(text).not.toContain('not for anybody');
  });

  test('responds with 404 to a program that requests an unknown path', async () => {
    expect((await get('/nowhere', { accept: '*/*' })).statusCode).toBe(404);
  });

  test('without built pages, explains how to build them and responds with 404 to requests for files', async () => {
    const unbuilt = pagesOf(join(folder, 'nothing'));
    const { statusCode, body } = await get('/', HTML, unbuilt);
    expect([statusCode, body]).toEqual([503, expect.stringContaining('npm run setup')]);
    expect((await get('/favicon.svg', {}, unbuilt)).statusCode).toBe(404);
  });
});
