import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Clock } from '../../src/database/clock.ts';

const { uptime } = os;
const { platform } = process;

/** Makes the system clock and the uptime of Linux run this many seconds ahead of their real values. */
function shift(clockSeconds: number, uptimeSeconds: number): void {
  vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + clockSeconds * 1000);
  os.uptime = () => uptime() + uptimeSeconds;
  syncBuiltinESMExports();
}

beforeEach(() => {
  Object.defineProperty(process, 'platform', { value: 'linux' });
  shift(0, 0);
});

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform });
  vi.restoreAllMocks();
  os.uptime = uptime;
  syncBuiltinESMExports();
});

const compareWithDatabase = (clock: Clock) => clock.compare(clock.read(), new Date(Date.now()).toISOString());

test('a suspension of the machine causes no fault, because the uptime includes the suspension', () => {
  const clock = new Clock();
  expect(compareWithDatabase(clock)).toBeUndefined();
  shift(3600, 3600);
  expect(clock.fault()).toBeUndefined();
  expect(compareWithDatabase(clock)).toBeUndefined();
});

test('a clock that moves by more than the duration of the suspension counts as jumped', () => {
  const clock = new Clock();
  compareWithDatabase(clock);
  shift(7200, 3600);
  expect(clock.fault()).toMatchObject({ kind: 'jumped' });
  expect(clock.fault()!.aheadMs).toBeCloseTo(3_600_000, -3);
});
