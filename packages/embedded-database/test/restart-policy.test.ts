import { expect, test } from 'vitest';
import { RestartPolicy } from '../src/restart-policy.ts';

/** The start time of a PostgreSQL that has run for 11 seconds, for example while it replayed its write-ahead log. */
const elevenSecondsAgo = () => Date.now() - 11_000;

test('gives up at the fourth failure in a row if PostgreSQL never accepted connections, however long each run lasted', () => {
  const policy = new RestartPolicy('/nowhere/postgres.log');
  for (const startedAt of [elevenSecondsAgo(), Date.now(), elevenSecondsAgo()]) policy.recordFailure('exit code 1', startedAt);
  expect(() => policy.recordFailure('exit code 1', elevenSecondsAgo())).toThrow('PostgreSQL does not stay up (exit code 1)');
});

test('after PostgreSQL accepted connections and ran for ten seconds, the next failure is the first in a row', () => {
  const policy = new RestartPolicy('/nowhere/postgres.log');
  policy.recordReady();
  for (let failure = 1; failure <= 5; failure += 1) policy.recordFailure('SIGKILL', elevenSecondsAgo());
  expect(policy.isProlonged).toBe(true);
  policy.recordReady();
  expect([policy.recordFailure('SIGKILL', elevenSecondsAgo()).pauseMs, policy.isProlonged]).toEqual([50, false]);
  policy.recordReady();
  expect(policy.recordFailure('SIGKILL', Date.now()).pauseMs).toBe(200);
});
