import pino from 'pino';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { OpenDatabase } from '../../src/app/open-database.ts';
import { type StartOptions, startServer } from '../../src/app/start-server.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import { BodyPreparer } from '../../src/http/body-preparer.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
});
afterEach(() => vi.restoreAllMocks());

/** Starts a server that must fail. Returns its error message, the number of running timers, and whether its body preparer is open. */
async function failToStart(settings: Partial<Config>, parts: Partial<OpenDatabase> = {}, options: StartOptions = {}) {
  const setIntervalSpy = vi.spyOn(globalThis, 'setInterval');
  const clearIntervalSpy = vi.spyOn(globalThis, 'clearInterval');
  const bodyPreparer = new BodyPreparer();
  const closeSpy = vi.spyOn(bodyPreparer, 'close');
  const config = { ...readConfig({}), port: 0, ...settings };
  const starting = startServer(config, { ...server.open, ...parts }, pino({ level: 'silent' }), { ...options, bodyPreparer });
  const error: Error = await starting.then(
    () => expect.unreachable('it has started'),
    (reason) => reason,
  );
  const timers = setIntervalSpy.mock.results.map(({ value }) => value);
  const stopped = new Set(clearIntervalSpy.mock.calls.map(([timer]) => timer));
  expect(timers.length).toBeGreaterThan(4);
  return {
    message: error.message,
    runningTimerCount: timers.filter((timer) => !stopped.has(timer)).length,
    hasOpenPreparer: closeSpy.mock.calls.length === 0,
  };
}

/** Makes the HTTP server fail when it closes. */
const failOnClose: StartOptions['alsoRegister'] = (app) => {
  app.addHook('onClose', () => Promise.reject(new Error('the HTTP server does not close')));
};

describe('a server that cannot start', () => {
  test('stops its timers and closes its body preparer if its port is in use', async () => {
    const port = Number(new URL(server.url).port);
    expect(await failToStart({ port })).toEqual({
      message: expect.stringContaining(`port ${port} on`),
      runningTimerCount: 0,
      hasOpenPreparer: false,
    });
  });

  test('stops its timers and closes its body preparer if the database cannot be reached', async () => {
    const lookupPool = new Proxy(server.open.lookupPool, {
      get: (pool, name) =>
        name === 'connect' || name === 'query' ? () => Promise.reject(new Error('away')) : Reflect.get(pool, name),
    });
    expect(await failToStart({}, { lookupPool })).toEqual({ message: 'away', runningTimerCount: 0, hasOpenPreparer: false });
  });

  test('stops its timers, closes its body preparer and reports why it cannot start, even if the HTTP server fails to close', async () => {
    const port = Number(new URL(server.url).port);
    expect(await failToStart({ port }, {}, { alsoRegister: failOnClose })).toEqual({
      message: expect.stringContaining(`port ${port} on`),
      runningTimerCount: 0,
      hasOpenPreparer: false,
    });
  });
});

test('a server whose HTTP server fails to close still closes its body preparer, and then throws the error of the HTTP server', async () => {
  const bodyPreparer = new BodyPreparer();
  const closeSpy = vi.spyOn(bodyPreparer, 'close');
  const config = { ...readConfig({}), port: 0 };
  const running = await startServer(config, server.open, pino({ level: 'silent' }), { bodyPreparer, alsoRegister: failOnClose });
  await expect(running.close()).rejects.toThrow('the HTTP server does not close');
  expect(closeSpy).toHaveBeenCalledOnce();
});
