import { paths } from '../harness/test-server.ts';
import { httpText } from './raw-socket.ts';
import { GOOD, type RejectionCode } from './rejections.ts';

export const BODY = JSON.stringify(GOOD.entry);
export const CONTENT_LENGTH = `Content-Length: ${BODY.length}`;
const JSON_TYPE = 'Content-Type: application/json';
export const POST_AUDIT = `POST ${paths.audit} HTTP/1.1`;
/** The headers of a valid request, except Content-Length. The tests replace `KEY` with a valid key. */
export const HEADERS = ['Host: x', 'Authorization: Bearer KEY', JSON_TYPE, 'Connection: close'];
export const headersWithout = (name: string) => HEADERS.filter((line) => !line.startsWith(name));

const requestCase = (what: string, error: RejectionCode, text: string, ...issues: string[]) => ({ what, error, text, issues });

/** Requests with an invalid request line, headers or framing, or with headers that are too large. */
export const MALFORMED_REQUESTS = [
  requestCase('a method in lower case', 'bad_request', httpText(POST_AUDIT.toLowerCase(), [...HEADERS, CONTENT_LENGTH], BODY)),
  requestCase(
    'an unknown method',
    'bad_request',
    httpText(POST_AUDIT.replace('POST', 'SEND'), [...HEADERS, CONTENT_LENGTH], BODY),
  ),
  requestCase('no request line', 'bad_request', 'hello\r\n\r\n'),
  requestCase('no version', 'bad_request', httpText(`${POST_AUDIT.replace('HTTP/1.1', 'HTTPS')}`, HEADERS)),
  requestCase('an invalid version', 'bad_request', httpText(POST_AUDIT.replace('1.1', '1.x'), HEADERS)),
  requestCase('a path that does not start with /', 'bad_request', httpText('POST api/public/audit HTTP/1.1', HEADERS)),
  requestCase('a path with a space', 'bad_request', httpText('POST /api/public/au dit HTTP/1.1', HEADERS)),
  requestCase(
    'a path that cannot be decoded',
    'bad_request',
    httpText('POST /api/public/%zz HTTP/1.1', [...HEADERS, CONTENT_LENGTH], BODY),
  ),
  requestCase(
    'a path that is not UTF-8',
    'bad_request',
    httpText('POST /api/public/audit%ff HTTP/1.1', [...HEADERS, CONTENT_LENGTH], BODY),
  ),
  requestCase('TLS', 'bad_request', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'),
  requestCase('HTTP/2', 'bad_request', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  requestCase('no Host', 'bad_request', httpText(POST_AUDIT, [...headersWithout('Host'), CONTENT_LENGTH], BODY), ' bad_header'),
  ...['HTTP/1.1', 'HTTP/1.0'].map((version) =>
    requestCase(
      `two Hosts, ${version}`,
      'bad_request',
      httpText(POST_AUDIT.replace('HTTP/1.1', version), ['Host: x', ...HEADERS, CONTENT_LENGTH], BODY),
      ' bad_header',
    ),
  ),
  requestCase(
    'two Hosts that differ only in case',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, 'HOST: X', CONTENT_LENGTH], BODY),
    ' bad_header',
  ),
  ...['x y', 'x/y', 'x@y', 'x, y', 'x,y', 'http://x', 'x:y', '[::1', '[x]', 'x"', 'x?y', 'x#', 'x\\y'].map((host) =>
    requestCase(
      `Host: ${host}`,
      'bad_request',
      httpText(POST_AUDIT, [...headersWithout('Host'), `Host: ${host}`, CONTENT_LENGTH], BODY),
      ' bad_header',
    ),
  ),
  requestCase(
    'a whole URL with a user in the request line',
    'bad_request',
    httpText(`POST http://a@x${paths.audit} HTTP/1.1`, [...HEADERS, CONTENT_LENGTH], BODY),
    ' bad_header',
  ),
  requestCase('a header without a colon', 'bad_request', httpText(POST_AUDIT, [...HEADERS, 'Nonsense', CONTENT_LENGTH], BODY)),
  requestCase('a header name with a space', 'bad_request', httpText(POST_AUDIT, [...HEADERS, 'X Name: x', CONTENT_LENGTH], BODY)),
  requestCase('a header with a NUL', 'bad_request', httpText(POST_AUDIT, [...HEADERS, 'X-Name: a\u0000b', CONTENT_LENGTH], BODY)),
  requestCase('a folded header', 'bad_request', httpText(POST_AUDIT, [...HEADERS, 'X-Name: a\r\n b', CONTENT_LENGTH], BODY)),
  requestCase('a Content-Length that is a word', 'bad_request', httpText(POST_AUDIT, [...HEADERS, 'Content-Length: many'], BODY)),
  requestCase('a negative Content-Length', 'bad_request', httpText(POST_AUDIT, [...HEADERS, 'Content-Length: -1'], BODY)),
  requestCase(
    'a Content-Length beyond 2^64',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, `Content-Length: ${'9'.repeat(30)}`], BODY),
  ),
  requestCase(
    'two Content-Lengths',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, 'Content-Length: 3', CONTENT_LENGTH], BODY),
  ),
  requestCase(
    'both Content-Length and chunks',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, 'Transfer-Encoding: chunked', CONTENT_LENGTH], BODY),
  ),
  requestCase(
    'a transfer encoding other than chunked',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, 'Transfer-Encoding: gzip'], BODY),
  ),
  requestCase(
    'a chunk without its size',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, 'Transfer-Encoding: chunked'], `size\r\n${BODY}`),
  ),
  requestCase(
    'a chunk longer than its size',
    'bad_request',
    httpText(POST_AUDIT, [...HEADERS, 'Transfer-Encoding: chunked'], `5\r\n${BODY}\r\n0\r\n\r\n`),
  ),
  requestCase(
    'a header of 20,000 characters',
    'headers_too_large',
    httpText(POST_AUDIT, [...HEADERS, `X-Name: ${'x'.repeat(20_000)}`, CONTENT_LENGTH], BODY),
  ),
  requestCase(
    '5,000 headers',
    'headers_too_large',
    httpText(POST_AUDIT, [...HEADERS, ...Array(5000).fill('X-Name: x'), CONTENT_LENGTH], BODY),
  ),
  requestCase(
    '1,001 short headers',
    'headers_too_large',
    httpText(POST_AUDIT, [...HEADERS, CONTENT_LENGTH, ...Array(996).fill('a: b')], BODY),
  ),
  requestCase('a path of 20,000 characters', 'headers_too_large', httpText(`POST /${'x'.repeat(20_000)} HTTP/1.1`, HEADERS)),
];

/** Required parts that are missing or cut off, parts that occur twice but may occur only once, and a Content-Length above the limit. */
export const MISSING_OR_DUPLICATE_PARTS = [
  requestCase(
    'no media type',
    'unsupported_media_type',
    httpText(POST_AUDIT, [...headersWithout('Content-Type'), CONTENT_LENGTH], BODY),
    ' media_type',
  ),
  requestCase(
    'no media type and no length',
    'unsupported_media_type',
    httpText(POST_AUDIT, headersWithout('Content-Type')),
    ' media_type',
  ),
  requestCase('neither length nor chunks, so an empty body', 'invalid_json', httpText(POST_AUDIT, HEADERS), ' not_json'),
  requestCase('a Content-Length of 0', 'invalid_json', httpText(POST_AUDIT, [...HEADERS, 'Content-Length: 0'], ''), ' not_json'),
  requestCase(
    'only the last chunk',
    'invalid_json',
    httpText(POST_AUDIT, [...HEADERS, 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    ' not_json',
  ),
  requestCase(
    'a Content-Length of 100 GB',
    'payload_too_large',
    httpText(POST_AUDIT, [...HEADERS, 'Content-Length: 100000000000'], BODY),
    ' size_limit',
  ),
  requestCase(
    'two X-Service-Keys',
    'unauthorized',
    httpText(POST_AUDIT, [...headersWithout('Auth'), 'X-Service-Key: KEY', 'X-Service-Key: KEY', CONTENT_LENGTH], BODY),
  ),
  requestCase(
    'two Idempotency-Keys',
    'validation_failed',
    httpText(POST_AUDIT, [...HEADERS, 'Idempotency-Key: a', 'Idempotency-Key: b', CONTENT_LENGTH], BODY),
    ' bad_header',
  ),
  requestCase(
    'HTTP/1.0 without a key',
    'unauthorized',
    httpText(`POST ${paths.audit} HTTP/1.0`, [JSON_TYPE, CONTENT_LENGTH], BODY),
  ),
  requestCase(
    'HTTP/1.0 with half a body',
    'invalid_json',
    httpText(`POST ${paths.audit} HTTP/1.0`, [...HEADERS, 'Content-Length: 9'], BODY.slice(0, 9)),
    ' not_json',
  ),
  requestCase(
    'an upgrade without a key',
    'unauthorized',
    httpText(POST_AUDIT, ['Host: x', 'Connection: Upgrade, close', 'Upgrade: websocket', CONTENT_LENGTH], BODY),
  ),
  requestCase(
    'an unknown expectation without a key',
    'unauthorized',
    httpText(POST_AUDIT, ['Host: x', 'Expect: a-miracle', 'Connection: close', CONTENT_LENGTH], BODY),
  ),
];

/** Methods that Node's parser accepts and the endpoint rejects. */
export const REJECTED_METHODS = [
  'GET',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'SEARCH',
  'MKCOL',
  'LINK',
].map((method) =>
  requestCase(method, 'method_not_allowed', httpText(POST_AUDIT.replace('POST', method), [...HEADERS, CONTENT_LENGTH], BODY)),
);
/** Other spellings of an endpoint's path. The router accepts them. */
export const PATH_SPELLINGS = ['/api/public/aud%69t', `http://x${paths.audit}`, `${paths.audit}#f`, `${paths.audit}?x=%zz`];

/** Paths that have no route for POST. */
export const UNKNOWN_PATHS = [
  ...[
    '/',
    '/api',
    '/api/public',
    '/api/public/',
    '/api/public/trace',
    '/api/public/audit/',
    '//api/public/audit',
    '/API/PUBLIC/AUDIT',
  ],
  ...[
    '/api/public/audit%2f',
    '/api/public/audit%00',
    '/api/public//audit',
    '/api/public/./audit',
    '/api/public/audit;v=1',
    '/api/v1/audit',
  ],
  ...[
    '/api/public/governance',
    '/.env',
    '/docs/',
    '/openapi.json/',
    '/metrics/?x',
    '/api/public/%2e%2e/audit',
    'http://x/api/public/audits',
    '*',
  ],
].map((path) => requestCase(path, 'not_found', httpText(`POST ${path} HTTP/1.1`, [...HEADERS, CONTENT_LENGTH], BODY)));
