import { expect, test } from 'vitest';
import { readProblem, toProblem } from '../src/api/problem.ts';

const limited = (seconds?: number) =>
  Response.json(
    { error: 'rate_limited', issues: [] },
    { status: 429, headers: seconds === undefined ? {} : { 'retry-after': String(seconds) } },
  );

test.each([
  [899, 'Too many requests. Try again in 15 minutes.'],
  [61, 'Too many requests. Try again in 61 seconds.'],
  [1, 'Too many requests. Try again in 1 second.'],
  [undefined, 'Too many requests. Wait a moment and try again.'],
])('the message says how long to wait for a Retry-After of %j seconds', async (seconds, message) => {
  expect(await readProblem(limited(seconds))).toMatchObject({ kind: 'limited', message });
});

test('a problem contains the request ID of the response', async () => {
  const response = Response.json({ error: 'internal_error', issues: [] }, { status: 500, headers: { 'x-request-id': 'req-7' } });
  expect(await readProblem(response)).toMatchObject({ kind: 'server', requestId: 'req-7' });
});

test('an error of the page itself is not shown as a lost connection and offers no retry', () => {
  expect(toProblem(new TypeError('x is undefined'))).toMatchObject({ kind: 'page', retryable: false });
});

test('several messages of the server are shown as separate sentences', async () => {
  const issues = [
    { path: '/name', code: 'empty', message: 'name must not be empty' },
    { path: '/scopes', code: 'empty', message: 'scopes must not be empty' },
  ];
  const problem = await readProblem(Response.json({ error: 'invalid', issues }, { status: 422 }));
  expect(problem.message).toBe('Name must not be empty. Scopes must not be empty.');
});
