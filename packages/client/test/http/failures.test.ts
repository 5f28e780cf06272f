import { beforeAll, describe, expect, test, vi } from 'vitest';
import { ERRORS } from '../../../core/src/contract/errors.ts';
import { apiError } from '../../src/http/errors.ts';
import { pauseAfter } from '../../src/http/retry-pace.ts';
import * as library from '../../src/index.ts';
import {
  ApiError,
  BadGatewayError,
  type ClientOptions,
  ConnectionError,
  Countersign,
  CountersignError,
  InternalServerError,
  type RateLimitedError,
  receiptOf,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
} from '../../src/index.ts';
import { type FailingServer, failingServer, type RequestHandler, respond } from '../fixtures/failing-server.ts';

let server: FailingServer;

beforeAll(async () => {
  server = await failingServer();
});

const clientOf = (options: Partial<ClientOptions> = {}) =>
  new Countersign({
    baseUrl: server.url,
    apiKey: 'aa_live_000000000000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    retries: { pauseMs: 4, pauseMsMax: 8 },
    ...options,
  });
const record = (options: Partial<ClientOptions> = {}, call = {}) =>
  clientOf(options).evaluations.record({ name: 'nightly' }, call);
const failureOf = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(CountersignError);
  return error as CountersignError;
};
/** The number of received requests. Also checks that all of them have the same Idempotency-Key and body. */
const countAttempts = () => {
  expect(new Set(server.received.map(({ key, body }) => `${key} ${JSON.stringify(body)}`)).size).toBe(1);
  expect(server.received[0]!.key).toMatch(/^[\x20-\x7e]{1,255}$/);
  return server.received.length;
};

describe('a request is retried with one Idempotency-Key', () => {
  test.each<[string, RequestHandler]>([
    ['the connection is dropped', respond.drop],
    ['the connection is reset', respond.reset],
    ['the response is truncated', respond.half],
    ['the response is truncated but ends normally', respond.halfWithEnd],
    ['the status is 408', respond.reject(408, 'request_timeout')],
    ['the status is 429', respond.reject(429, 'rate_limited')],
    ['a proxy responds with 502', respond.page(502)],
    ['the status is 503', respond.reject(503, 'unavailable')],
    ['a proxy responds with 504', respond.page(504)],
  ])('when %s', async (_, failing) => {
    server.setHandlers(failing, failing, respond.good());
    const response = await record();
    expect(response).toMatchObject({ ok: true });
    expect([countAttempts(), receiptOf(response)?.attempts]).toEqual([3, 3]);
  });

  test('when no response arrives in time', async () => {
    server.setHandlers(respond.silence, respond.stall, respond.good());
    expect(await record({ timeoutMs: 400 })).toMatchObject({ ok: true });
    expect(countAttempts()).toBe(3);
  });

  test('when the apiKey function fails or takes too long', async () => {
    server.setHandlers(respond.good());
    const apiKey = vi
      .fn(async () => 'aa_live_000000000000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')
      .mockRejectedValueOnce(new Error('the vault is sealed'))
      .mockReturnValueOnce(new Promise(() => undefined));
    expect(await record({ apiKey, timeoutMs: 60 })).toMatchObject({ ok: true });
    expect([countAttempts(), apiKey.mock.calls.length]).toEqual([1, 3]);
  });

  test('up to attemptsMax, and then fails with the last error and the number of attempts', async () => {
    server.setHandlers(respond.reject(503, 'unavailable'));
    const error = await failureOf(record({ retries: { attemptsMax: 3, pauseMs: 2 } }));
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ attempts: 3, status: 503, code: 'unavailable', requestId: 'req-1' });
    expect(countAttempts()).toBe(3);
  });

  test('not before the time in Retry-After', async () => {
    server.setHandlers(respond.reject(429, 'rate_limited', { 'retry-after': '1' }), respond.good());
    await record();
    expect(server.received[1]!.at - server.received[0]!.at).toBeGreaterThanOrEqual(990);
  });

  test('but fails at once when Retry-After is longer than the deadline', async () => {
    server.setHandlers(respond.reject(503, 'unavailable', { 'retry-after': '3600' }));
    expect(await failureOf(record({ deadlineMs: 5000 }))).toMatchObject({ retryAfterMs: 3_600_000, attempts: 1 });
  });

  test('but not after 400, 401, 404, 405, 413, 415, 422, 431 or 500', async () => {
    for (const status of [400, 401, 404, 405, 413, 415, 422, 431, 500]) {
      server.setHandlers(respond.reject(status, 'some_code'));
      expect(await failureOf(record())).toMatchObject({ status, attempts: 1 });
      expect(countAttempts()).toBe(1);
    }
  });

  test('after a random pause, which can be 0', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    server.setHandlers(respond.drop);
    const startedAt = performance.now();
    await failureOf(record({ retries: { pauseMs: 100_000, attemptsMax: 5 } }));
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(countAttempts()).toBe(5);
    random.mockRestore();
  });
});

describe('a call', () => {
  test('retries many times within its deadline, and shortens a pause that would reach it', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    server.setHandlers(...Array.from({ length: 9 }, () => respond.drop), respond.good());
    expect(receiptOf(await record({ deadlineMs: 60_000 }))?.attempts).toBe(10);
    // A pause that would reach the deadline is shortened. If too little time is left, there is no further attempt.
    random.mockReturnValue(0.5);
    const pace = { attemptsMax: 9, pauseMs: 40, pauseMsMax: 60_000 };
    const pauses = [400, 120, 79].map((leftMs) => pauseAfter(4, new ConnectionError('unreachable'), leftMs, pace));
    expect(pauses).toEqual([160, 60, undefined]);
    random.mockRestore();
  });

  test('ends at its deadline even during an attempt', async () => {
    const otherServer = await failingServer();
    otherServer.setHandlers(respond.silence);
    const startedAt = performance.now();
    expect(await failureOf(record({ baseUrl: otherServer.url, timeoutMs: 50, deadlineMs: 1_000 }))).toBeInstanceOf(TimeoutError);
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(otherServer.received.length).toBeGreaterThan(1);
  });

  test('ends with the reason of its signal if the signal is aborted before, during or between attempts', async () => {
    const reason = new Error('the host has other plans');
    server.setHandlers(respond.silence);
    await expect(record({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.received).toEqual([]);
    for (const handler of [respond.silence, respond.reject(503, 'unavailable', { 'retry-after': '20' })]) {
      server.setHandlers(handler);
      const controller = new AbortController();
      const call = record({}, { signal: controller.signal });
      const expectation = expect(call).rejects.toBe(reason);
      await expect.poll(() => server.received.length).toBe(1);
      controller.abort(reason);
      await expectation;
    }
  });

  test('times out even if fetch ignores its signal', async () => {
    const ignoringFetch = () => new Promise<never>(() => undefined);
    expect(
      await failureOf(record({ fetch: ignoringFetch, timeoutMs: 20, retries: { attemptsMax: 2, pauseMs: 1 } })),
    ).toBeInstanceOf(TimeoutError);
  });
});

test('a response without a body stream, which a custom fetch may return, is read as text', async () => {
  const headers = new Headers({ 'content-type': 'application/json' });
  const fetch = async () => ({ status: 200, headers, text: async () => '{"ok":true,"id":"read"}' });
  expect(await record({ fetch })).toEqual({ ok: true, id: 'read' });
});

test('a call throws a TimeoutError that names the apiKey function if that function takes too long', async () => {
  const apiKey = () => new Promise<string>(() => undefined);
  const error = await failureOf(record({ apiKey, timeoutMs: 20, retries: { attemptsMax: 1 } }));
  expect(error.name).toBe('TimeoutError');
  expect(error.message).toBe('apiKey() returned no key within 20 ms');
});

test('a call throws a ConnectionError with the reason if the apiKey function fails', async () => {
  const apiKey = async () => Promise.reject(new Error('the vault is sealed'));
  const error = await failureOf(record({ apiKey, retries: { attemptsMax: 1 } }));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error.message).toBe('apiKey() failed: the vault is sealed');
});

describe('a response that is not from the service is rejected', () => {
  test.each<[string, RequestHandler, RegExp]>([
    ['a web page', respond.page(200), /content type/],
    ['JSON of another form', respond.good({ hello: 'world' }), /has no valid member ok/],
    ['ok: false', respond.good({ ok: false }), /has no valid member ok/],
    ['a JSON list', respond.good([1]), /not a JSON object/],
    ['an endless response', respond.endless(false), /more than 8388608 bytes/],
    ['an endless compressed response', respond.endless(true), /more than 8388608 bytes/],
    ['a status of success without a result', respond.page(202), /its status is 202/],
    ['a redirect', respond.redirect('https://elsewhere.example/api'), /redirects to https:\/\/elsewhere\.example\/api/],
  ])('%s', async (_, handler, message) => {
    server.setHandlers(handler);
    const error = await failureOf(record());
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect(error.message).toMatch(message);
    expect(countAttempts()).toBe(1);
  });

  test('a decision whose `allowed` is missing or not a boolean', async () => {
    for (const body of [{ ok: true }, { allowed: 'true' }, { allowed: 1 }]) {
      server.setHandlers(respond.good(body));
      expect(await failureOf(clientOf().governance.checkPromotion({ agent_name: 'bot' }))).toBeInstanceOf(UnexpectedAnswerError);
    }
  });

  test('and the key is never sent to the target of a redirect', async () => {
    const otherServer = await failingServer();
    otherServer.setHandlers(respond.good());
    server.setHandlers(respond.redirect(`${otherServer.url}/api/public/evaluations`));
    await failureOf(record());
    expect(otherServer.received).toEqual([]);
  });
});

describe('errors', () => {
  test('have an exported class for every status of the service, and for 502 and 504 from a proxy', () => {
    // Errors of the portal's API never reach this client.
    const publicErrors = Object.values(ERRORS).filter(({ when }) => !when.startsWith('Portal:'));
    const statuses = new Set<number>([...publicErrors.map(({ status }) => status), 502, 504]);
    const classes = [...statuses].map((status) =>
      apiError({ status, code: 'x', requestId: 'r', issues: [], retryAfterMs: undefined }),
    );
    for (const error of classes) {
      expect(error.constructor).not.toBe(ApiError);
      expect((library as Record<string, unknown>)[error.name]).toBe(error.constructor);
    }
    expect(new Set(classes.map(({ name }) => name)).size).toBe(statuses.size);
  });

  test('contain status, code, request ID and retry time', async () => {
    server.setHandlers(respond.reject(500, 'internal_error'));
    expect(await failureOf(record())).toMatchObject({ message: '500 internal_error (request req-1)' });
    expect(await failureOf(record())).toBeInstanceOf(InternalServerError);
    server.setHandlers(respond.page(502));
    const proxied = await failureOf(record({ retries: { attemptsMax: 1 } }));
    expect(proxied).toBeInstanceOf(BadGatewayError);
    expect(proxied).toMatchObject({ code: undefined, message: '502 the response is not from Countersign' });
    server.setHandlers(respond.reject(429, 'rate_limited', { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }));
    const limited = (await failureOf(record({ retries: { attemptsMax: 1 } }))) as RateLimitedError;
    expect(limited.retryAfterMs).toBeGreaterThan(50_000);
  });

  test('for an unreachable address are ConnectionErrors with the address and the cause', async () => {
    const error = await failureOf(record({ baseUrl: 'http://127.0.0.1:1', retries: { attemptsMax: 2, pauseMs: 1 } }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toContain('http://127.0.0.1:1/api/public/evaluations cannot be reached: ');
    expect(error.cause).toBeInstanceOf(Error);
  });

  test.each(['', 'a\nb', '\u00fc', 'a'.repeat(256)])(
    'for the invalid Idempotency-Key %j occur before any request',
    async (idempotencyKey) => {
      server.setHandlers(respond.good());
      expect(await failureOf(record({}, { idempotencyKey }))).toMatchObject({ name: 'ConfigurationError', attempts: 0 });
      expect(server.received).toEqual([]);
    },
  );

  test.each([
    { deadlineMs: Number.NaN },
    { deadlineMs: 0 },
    { timeoutMs: Number.NaN },
    { timeoutMs: '10s' as unknown as number },
  ])('for the invalid time limit %o of a call occur before any request', async (limits) => {
    server.setHandlers(respond.good());
    const [name] = Object.keys(limits);
    expect(await failureOf(record({}, limits))).toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining(`${name} must be a number above 0`),
    });
    expect(server.received).toEqual([]);
  });

  test.each(['short', 'sixteen letters!', 'sixteen-letters-\n'])(
    'for the invalid nonce %j occur before any request',
    async (nonce) => {
      server.setHandlers(respond.good());
      const check = clientOf().governance.checkPromotion({ agent_name: 'bot' }, { nonce });
      expect(await failureOf(check)).toMatchObject({ name: 'ConfigurationError', attempts: 0 });
      expect(server.received).toEqual([]);
    },
  );

  test('for an invalid nonce from a function occur before the request is sent', async () => {
    server.setHandlers(respond.good());
    const check = clientOf().governance.checkPromotion({ agent_name: 'bot' }, { nonce: () => 'short' });
    expect(await failureOf(check)).toMatchObject({ name: 'ConfigurationError', attempts: 1 });
    expect(server.received).toEqual([]);
  });

  test('for a body that JSON cannot represent occur before any request', async () => {
    server.setHandlers(respond.good());
    const entry = { actor: 'a', action: 'b.c', metadata: { big: 1n } };
    expect(await failureOf(clientOf().audit.append(entry))).toMatchObject({ name: 'ConfigurationError', attempts: 0 });
    expect(server.received).toEqual([]);
  });
});
