import { afterEach, expect, test } from 'vitest';
import { connection, recordConnection } from '../src/api/connection.ts';
import { Problem, readProblem, toProblem } from '../src/api/problem.ts';
import { readBody } from '../src/api/read-body.ts';
import { fieldError } from '../src/forms/field-errors.ts';

afterEach(() => recordConnection(true));

const rateLimitedResponse = (seconds?: number) =>
  Response.json(
    { error: 'rate_limited', issues: [] },
    { status: 429, headers: seconds === undefined ? {} : { 'retry-after': String(seconds) } },
  );

test.each([
  ['with Retry-After: 899', 'Too many requests. Try again in 15 minutes.', 899],
  ['with Retry-After: 61', 'Too many requests. Try again in 61 seconds.', 61],
  ['with Retry-After: 1', 'Too many requests. Try again in 1 second.', 1],
  ['without Retry-After', 'Too many requests. Wait a moment and try again.', undefined],
])('the message of a response with status 429 %s is %j', async (_what, message, seconds) => {
  expect(await readProblem(rateLimitedResponse(seconds))).toMatchObject({ kind: 'limited', message });
});

test('the message about a missing record names the two possible reasons', async () => {
  const response = Response.json({ error: 'not_found', issues: [] }, { status: 404 });
  const message = 'The record does not exist, or it belongs to another workspace.';
  expect(await readProblem(response)).toMatchObject({ kind: 'missing', message });
});

test('the message about a lost connection says to check whether a change was stored', () => {
  expect(new Problem(0, 'no_response').message).toContain('If you submitted a change, first check whether it was stored.');
});

test('the message of a problem makes repeated spaces visible, so that two names in it look different', async () => {
  const issues = [{ path: '', message: 'the page showed "a  bot", but the log has "a bot"', code: 'conflict' }];
  const response = Response.json({ error: 'rule_violation', issues }, { status: 409 });
  const message = 'The page showed "a\u2423\u2423bot", but the log has "a bot"';
  expect(await readProblem(response)).toMatchObject({ kind: 'conflict', message });
});

test('a problem contains the request ID of the response', async () => {
  const response = Response.json({ error: 'internal_error', issues: [] }, { status: 500, headers: { 'x-request-id': 'req-7' } });
  expect(await readProblem(response)).toMatchObject({ kind: 'server', requestId: 'req-7' });
});

test.each([{}, { error: 7 }, null])(
  'an error response with the JSON %j, which has no error code, is unreadable',
  async (body) => {
    expect(await readProblem(Response.json(body, { status: 422 }))).toMatchObject({ kind: 'invalid', code: 'unreadable' });
  },
);

test('a connection that breaks while a response is read is reported as lost', async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError('network error')) });
  await expect(readBody(new Response(body))).rejects.toMatchObject({ kind: 'lost', code: 'no_response' });
  expect(connection.isLost()).toBe(true);
});

test.each([
  ['a working', true],
  ['a lost', false],
])('an aborted read rejects with the error of the abort, and %s connection stays as it was', async (_what, hasResponded) => {
  recordConnection(hasResponded);
  const abortError = new DOMException('aborted', 'AbortError');
  const body = new ReadableStream({ start: (controller) => controller.error(abortError) });
  await expect(readBody(new Response(body), AbortSignal.abort())).rejects.toBe(abortError);
  expect(connection.isLost()).toBe(!hasResponded);
});

test('a successful response that is not JSON is a retryable problem of the server, with the request ID', async () => {
  const page = new Response('<!doctype html>', { headers: { 'x-request-id': 'req-7' } });
  await expect(readBody(page)).rejects.toMatchObject({
    kind: 'server',
    code: 'unreadable',
    requestId: 'req-7',
    isRetryable: true,
  });
});

test('an error of the page itself is not shown as a lost connection and offers no retry', () => {
  expect(toProblem(new TypeError('x is undefined'))).toMatchObject({ kind: 'page', isRetryable: false });
});

test('several messages of the server are shown as separate sentences', async () => {
  const issues = [
    { path: '/name', code: 'empty', message: 'name must not be empty' },
    { path: '/scopes', code: 'empty', message: 'scopes must not be empty' },
  ];
  const problem = await readProblem(Response.json({ error: 'invalid', issues }, { status: 422 }));
  expect(problem.message).toBe('Name must not be empty. Scopes must not be empty.');
});

test('a form shows one message for an empty field, and a simple message for an empty selection', async () => {
  const issues = [
    { path: '/description', code: 'too_short', message: 'description must not be empty' },
    { path: '/description', code: 'bad_characters', message: 'description must not be blank, and not contain U+0000' },
    { path: '/scopes', code: 'too_few_items', message: 'scopes must have at least 1 item, got 0' },
    { path: '/expires_at', code: 'bad_format', message: 'expires_at is in the past' },
  ];
  const problem = await readProblem(Response.json({ error: 'invalid', issues }, { status: 422 }));
  expect(['description', 'scopes', 'expires_at', 'name'].map((field) => fieldError(problem, field))).toEqual([
    'Must not be empty.',
    'Select at least one.',
    'This is in the past.',
    undefined,
  ]);
});
