import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { paths, type TestResponse } from '../harness/test-server.ts';
import { digestOf, expectRejected, GOOD, type RejectedRequest, setUpRejections, testRejections } from './rejections.ts';

const target = setUpRejections();
const MIB = 1024 * 1024;
const ENTRY = JSON.stringify(GOOD.entry);
const GZIP = { 'content-encoding': 'gzip' };
const DEFLATE = { 'content-encoding': 'deflate' };

/** A valid body of exactly the given number of bytes. */
const padBody = (good: object, bytes: number): string => {
  const text = JSON.stringify(good).slice(0, -1);
  return `${text}${' '.repeat(bytes - text.length - 1)}}`;
};
/** Like padBody, but half of the body is random hex digits, so that the body is less than 300 times as long as its compressed form. */
const padRandomly = (good: object, bytes: number): string =>
  padBody({ ...good, metadata: { text: randomBytes(bytes / 4).toString('hex') } }, bytes);
/** White space in gzip members of 10 MiB each: a bomb that costs its sender little time and memory. */
const gzipBomb = (mib: number): Buffer => {
  const member = gzipSync(Buffer.alloc(10 * MIB, 0x20), { level: 9 });
  return Buffer.concat(Array.from({ length: mib / 10 }, () => member));
};

const rejection = (
  what: string,
  path: string,
  error: RejectedRequest['error'],
  body: unknown,
  headers: Record<string, string> = {},
): RejectedRequest => ({
  what,
  path,
  body,
  headers,
  error: error!,
  issues: [
    { payload_too_large: ' size_limit', unsupported_media_type: ' media_type', invalid_json: ' not_json' }[
      error as 'invalid_json'
    ],
  ],
});
const limitOf = (path: string): string =>
  `at most ${path === paths.traces || path === paths.telemetry ? 20_971_520 : 1_048_576} bytes`;
const tooLarge = (what: string, path: string, body: unknown, headers?: Record<string, string>): RejectedRequest => ({
  ...rejection(what, path, 'payload_too_large', body, headers),
  messagePattern: `the body may have ${limitOf(path)}, decompressed`,
});
const expandsTooMuch = (what: string, path: string, body: unknown, headers: Record<string, string>): RejectedRequest => ({
  ...rejection(what, path, 'payload_too_large', body, headers),
  messagePattern: `expands to more than 300 times its compressed bytes; send it uncompressed, ${limitOf(path)}`,
});
const bomb = gzipBomb(1000);

testRejections('rejects a body that is too large before or after decompression', target, [
  tooLarge('one byte too large for an audit entry', paths.audit, padBody(GOOD.entry, MIB + 1)),
  tooLarge('one byte too large for an evaluation', paths.evaluations, padBody(GOOD.evaluation, MIB + 1)),
  tooLarge('one byte too large for a promotion check', paths.promotionCheck, padBody(GOOD.check, MIB + 1)),
  tooLarge('one byte too large for a trace', paths.traces, padBody(GOOD.trace, 20 * MIB + 1)),
  tooLarge('one byte too large for telemetry', paths.telemetry, padBody(GOOD.event, 20 * MIB + 1)),
  tooLarge('50 MB for a trace', paths.traces, Buffer.alloc(50_000_000, 0x20)),
  tooLarge('50 MB for an audit entry', paths.audit, Buffer.alloc(50_000_000, 0x20)),
  tooLarge('one byte too large after gzip', paths.audit, gzipSync(padRandomly(GOOD.entry, MIB + 1)), GZIP),
  tooLarge('one byte too large after deflate', paths.audit, deflateSync(padRandomly(GOOD.entry, MIB + 1)), DEFLATE),
]);

testRejections('rejects a body that expands to more than 300 times its compressed size', target, [
  expandsTooMuch('1,000 MiB in a gzip bomb', paths.traces, bomb, GZIP),
  expandsTooMuch('1,000 MiB in a gzip bomb for the ledger', paths.audit, bomb.subarray(0, MIB), GZIP),
  expandsTooMuch('50 MB in a deflate bomb', paths.telemetry, deflateSync(Buffer.alloc(50_000_000, 0x20)), DEFLATE),
  expandsTooMuch('one byte more than 1 MiB', paths.audit, gzipSync(padBody(GOOD.entry, MIB + 1)), GZIP),
]);

testRejections('rejects a body that does not match its Content-Encoding', target, [
  rejection('garbage sent as gzip', paths.audit, 'invalid_json', 'garbage', GZIP),
  rejection('plain JSON sent as gzip', paths.audit, 'invalid_json', ENTRY, GZIP),
  rejection('plain JSON sent as deflate', paths.traces, 'invalid_json', JSON.stringify(GOOD.trace), DEFLATE),
  rejection('gzip sent as deflate', paths.audit, 'invalid_json', gzipSync(ENTRY), DEFLATE),
  rejection('raw deflate, without its header', paths.audit, 'invalid_json', deflateRawSync(ENTRY), DEFLATE),
  rejection('gzip without Content-Encoding', paths.audit, 'invalid_json', gzipSync(ENTRY)),
  rejection('gzip within gzip', paths.audit, 'invalid_json', gzipSync(gzipSync(ENTRY)), GZIP),
  rejection('gzip truncated in its data', paths.audit, 'invalid_json', gzipSync(ENTRY).subarray(0, -12), GZIP),
  rejection('gzip truncated in its checksum', paths.audit, 'invalid_json', gzipSync(ENTRY).subarray(0, -4), GZIP),
  rejection('gzip truncated in its header', paths.audit, 'invalid_json', gzipSync(ENTRY).subarray(0, 4), GZIP),
  rejection('gzip with a wrong checksum', paths.audit, 'invalid_json', withWrongChecksum(gzipSync(ENTRY)), GZIP),
  rejection('an empty gzip body', paths.audit, 'invalid_json', gzipSync(''), GZIP),
  rejection('no bytes sent as gzip', paths.audit, 'invalid_json', '', GZIP),
  rejection(
    'a valid body followed by a second one, as two gzip members',
    paths.audit,
    'invalid_json',
    Buffer.concat([gzipSync(ENTRY), gzipSync(ENTRY)]),
    GZIP,
  ),
  rejection(
    'a valid body followed by a second one, as two deflate streams',
    paths.audit,
    'invalid_json',
    Buffer.concat([deflateSync(ENTRY), deflateSync(ENTRY)]),
    DEFLATE,
  ),
]);

const unsupported = (what: string, headers: Record<string, string>, body: unknown = ENTRY): RejectedRequest =>
  rejection(what, paths.audit, 'unsupported_media_type', body, headers);

testRejections('rejects bodies that are not JSON in UTF-8, and encodings other than gzip and deflate', target, [
  unsupported('text/plain', { 'content-type': 'text/plain' }),
  unsupported('text/json', { 'content-type': 'text/json' }),
  unsupported('a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'actor=a'),
  unsupported('multipart', { 'content-type': 'multipart/form-data; boundary=x' }),
  unsupported('NDJSON', { 'content-type': 'application/x-ndjson' }),
  unsupported('another kind of JSON', { 'content-type': 'application/ld+json' }),
  unsupported('two media types', { 'content-type': 'application/json, text/plain' }),
  unsupported('no media type at all', { 'content-type': '' }),
  unsupported('a media type without a subtype', { 'content-type': 'application' }),
  unsupported('a media type that consists of parameters', { 'content-type': '; charset=utf-8' }),
  unsupported('an invalid media type', { 'content-type': 'a b/c' }),
  unsupported('JSON in Latin-1', { 'content-type': 'application/json; charset=latin1' }),
  unsupported('JSON in UTF-16', { 'content-type': 'application/json;charset="utf-16"' }),
  unsupported('JSON with an empty character set', { 'content-type': 'application/json; charset=' }),
  unsupported('brotli', { 'content-encoding': 'br' }, brotliCompressSync(ENTRY)),
  unsupported('zstd', { 'content-encoding': 'zstd' }, zstdCompressSync(ENTRY)),
  unsupported('compress', { 'content-encoding': 'compress' }),
  unsupported('gzip, twice', { 'content-encoding': 'gzip, gzip' }, gzipSync(gzipSync(ENTRY))),
  unsupported('gzip with a quality', { 'content-encoding': 'gzip;q=1' }, gzipSync(ENTRY)),
  unsupported('an encoding without a name', { 'content-encoding': '' }),
]);

test.each([
  ['50 MB', Buffer.alloc(50_000_000, 0x20), {}],
  ['a gzip bomb', bomb, GZIP],
])(
  'the server responds with 413 to %s sent without Content-Length, and its memory stays bounded',
  async (_what, body, headers) => {
    const before = await digestOf(target.server.database);
    const rss = process.memoryUsage().rss;
    const responses = await Promise.all(Array.from({ length: 3 }, () => postChunked(paths.audit, body, headers)));
    for (const response of responses) expectRejected(response, 'payload_too_large', [' size_limit']);
    expect(process.memoryUsage().rss - rss).toBeLessThan(400 * MIB);
    expect(await digestOf(target.server.database)).toEqual(before);
  },
);

test('the server accepts a body of exactly the maximum size: plain, chunked or compressed', async () => {
  const body = padBody(GOOD.entry, MIB);
  expect((await target.server.post(paths.audit, target.key, body)).status).toBe(200);
  expect((await postChunked(paths.audit, Buffer.from(body))).status).toBe(200);
  for (const [compressed, encoding] of [
    [gzipSync(body), 'gzip'],
    [gzipSync(body), 'X-GZIP'],
    [deflateSync(body), 'deflate'],
    [Buffer.from(body), 'identity'],
  ] as const)
    expect((await target.server.post(paths.audit, target.key, compressed, { 'content-encoding': encoding })).status).toBe(200);
});

test('the server accepts the media type in any letter case and with UTF-8', async () => {
  for (const type of [
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json;',
  ])
    expect((await target.server.post(paths.audit, target.key, ENTRY, { 'content-type': type })).status).toBe(200);
});

/** POSTs a body in pieces with Transfer-Encoding: chunked and no Content-Length. */
function postChunked(path: string, body: Buffer, headers: Record<string, string> = {}): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const pendingRequest = request(target.server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json', ...headers },
      agent: false,
    });
    pendingRequest.on('error', reject);
    pendingRequest.on('response', async (response) => {
      const text = (await response.toArray()).join('');
      resolve({
        status: response.statusCode!,
        headers: new Headers(response.headers as Record<string, string>),
        body: JSON.parse(text),
      });
    });
    for (let at = 0; at < body.length; at += MIB) pendingRequest.write(body.subarray(at, at + MIB));
    pendingRequest.end();
  });
}

function withWrongChecksum(gzipped: Buffer): Buffer {
  gzipped.writeUInt32LE(7, gzipped.length - 8);
  return gzipped;
}
