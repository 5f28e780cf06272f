import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CLOCK_DIFFERENCE_MAX_MS,
  CLOCK_SETTLING_MS,
  type ClockFault,
  ClockGuard,
  JUMP_ACCEPTED_MS_MAX,
  JUMP_ACCEPTED_MS_MIN,
} from '../../src/domain/clock-guard.ts';

const START = Date.parse('2026-11-22T08:00:00.000Z');
const HOUR_MS = 3_600_000;

/** A machine with clocks that a test sets. The guard samples them once a second, as in the server. */
class Machine {
  steadyMs = 1_000;
  wallAheadMs = 0;
  databaseAheadMs = 0;
  readonly guard = new ClockGuard(this.read());

  read() {
    return { wallMs: START + this.steadyMs + this.wallAheadMs, steadyMs: this.steadyMs };
  }

  /** Advances the time, with a sample every second. Returns the fault at the last sample. */
  advance(ms: number): ClockFault | undefined {
    let fault: ClockFault | undefined;
    for (let passed = 0; passed < ms; passed += 1_000) {
      this.steadyMs += 1_000;
      this.guard.observe(this.read());
      fault = this.compare();
    }
    return fault;
  }

  /** Compares one reading of the database's clock, which took `tookMs`. */
  compare(tookMs = 10): ClockFault | undefined {
    const before = this.read();
    const databaseMs = START + this.steadyMs + this.databaseAheadMs;
    this.steadyMs += tookMs;
    return this.guard.compare({ before, after: this.read(), databaseMs });
  }
}

describe('clocks that agree', () => {
  test('are safe while they drift slowly', () => {
    const machine = new Machine();
    for (let minute = 0; minute < 300; minute += 1) {
      machine.wallAheadMs += 6; // 6 ms per minute: 100 ppm
      machine.databaseAheadMs += 6;
      expect(machine.advance(60_000)).toBeUndefined();
    }
  });

  test('are safe when reading the clock of the database takes long', () => {
    expect(new Machine().compare(12_000)).toBeUndefined();
  });

  test.for([-CLOCK_DIFFERENCE_MAX_MS, CLOCK_DIFFERENCE_MAX_MS])('are safe at a difference of %i ms', (ms) => {
    const machine = new Machine();
    machine.databaseAheadMs = ms;
    expect(machine.compare()).toBeUndefined();
    machine.wallAheadMs = ms;
    expect(machine.guard.observe(machine.read())).toBeUndefined();
  });
});

describe("jump of the server's clock", () => {
  test.for([HOUR_MS, -HOUR_MS, 20 * 365 * 24 * HOUR_MS, CLOCK_DIFFERENCE_MAX_MS + 100])(
    'by %i ms is detected at once, before the database is queried',
    (ms) => {
      const machine = new Machine();
      machine.advance(3_000);
      machine.wallAheadMs = ms;
      const fault = machine.guard.observe(machine.read());
      expect(fault).toMatchObject({ kind: 'jumped', clearsInMs: null });
      expect(Math.abs(fault!.aheadMs - ms)).toBeLessThan(100);
    },
  );

  test('that the database does not share is a fault until the clock is right and has settled', () => {
    const machine = new Machine();
    machine.advance(3_000);
    machine.wallAheadMs = HOUR_MS;
    expect(machine.advance(2 * HOUR_MS)).toMatchObject({ kind: 'jumped', clearsInMs: null });
    machine.wallAheadMs = 0;
    expect(machine.advance(CLOCK_SETTLING_MS - 1_000)).toMatchObject({ kind: 'settling' });
    expect(machine.advance(2_000)).toBeUndefined();
  });

  test.for([
    [10_000, JUMP_ACCEPTED_MS_MIN],
    [60_000, 60_000],
    [20 * 365 * 24 * HOUR_MS, JUMP_ACCEPTED_MS_MAX],
  ] as const)('by %i ms, which the database shares, is accepted after %i ms', ([ms, acceptedAfterMs]) => {
    const machine = new Machine();
    machine.advance(3_000);
    machine.wallAheadMs = ms;
    machine.databaseAheadMs = ms;
    const fault = machine.advance(acceptedAfterMs * 0.8);
    expect(fault?.kind).toBe('jumped');
    expect(fault?.clearsInMs).toBeLessThan(acceptedAfterMs);
    expect(machine.advance(acceptedAfterMs * 0.3 + 2_000)).toBeUndefined();
    expect(machine.guard.trustedDatabaseMs(machine.steadyMs)! - START - machine.steadyMs - ms).toBe(0);
  });

  test('that is followed by another jump every five seconds is not accepted', () => {
    const machine = new Machine();
    machine.advance(3_000);
    for (let jump = 1; jump < 200; jump += 1) {
      machine.wallAheadMs = jump * 8_000;
      machine.databaseAheadMs = machine.wallAheadMs;
      expect(machine.advance(5_000)?.kind).toBe('jumped');
    }
  });

  test('to the time that the database already had is accepted after the minimum time', () => {
    const machine = new Machine();
    machine.databaseAheadMs = HOUR_MS;
    expect(machine.advance(60_000)).toEqual({ kind: 'apart', aheadMs: expect.any(Number), clearsInMs: null });
    machine.wallAheadMs = HOUR_MS;
    expect(machine.advance(JUMP_ACCEPTED_MS_MIN - 2_000)?.kind).toBe('jumped');
    expect(machine.advance(8_000)).toBeUndefined();
  });
});

describe("jump of the database's clock", () => {
  test.for([HOUR_MS, -HOUR_MS])('by %i ms is a fault until the clock is right again and has settled', (ms) => {
    const machine = new Machine();
    machine.advance(3_000);
    machine.databaseAheadMs = ms;
    expect(machine.compare()).toMatchObject({ kind: 'apart', clearsInMs: null });
    expect(machine.advance(60_000)?.kind).toBe('apart');
    machine.databaseAheadMs = 0;
    expect(machine.compare(30_000)?.kind).toBe('apart'); // A reading this slow cannot prove agreement.
    expect(machine.advance(1_000)?.kind).toBe('settling');
    expect(machine.advance(CLOCK_SETTLING_MS + 1_000)).toBeUndefined();
  });
});

test('after any jumps, clocks that differ and a further jump ahead are each a fault at once, and correct clocks become safe', () => {
  const step = fc.record({
    wallAheadMs: fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }),
    databaseAheadMs: fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }),
    passMs: fc.integer({ min: 0, max: 60_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      const machine = new Machine();
      machine.advance(2_000);
      for (const { wallAheadMs, databaseAheadMs, passMs } of steps) {
        const previousAheadMs = machine.wallAheadMs;
        machine.wallAheadMs = wallAheadMs;
        machine.databaseAheadMs = databaseAheadMs;
        const fault = machine.compare();
        const areApart = Math.abs(wallAheadMs - databaseAheadMs) > CLOCK_DIFFERENCE_MAX_MS + 20;
        const hasJumped = Math.abs(wallAheadMs - previousAheadMs) > CLOCK_DIFFERENCE_MAX_MS * 2 + 20;
        if (areApart) expect(fault).toBeDefined();
        if (
          hasJumped &&
          machine.guard.trustedDatabaseMs(machine.steadyMs)! + 2 * CLOCK_DIFFERENCE_MAX_MS <
            START + machine.steadyMs + wallAheadMs
        )
          expect(fault).toBeDefined();
        machine.advance(passMs);
      }
      machine.wallAheadMs = 0;
      machine.databaseAheadMs = 0;
      expect(machine.advance(JUMP_ACCEPTED_MS_MAX + 60_000)).toBeUndefined();
      expect(Math.abs(machine.guard.trustedDatabaseMs(machine.steadyMs)! - START - machine.steadyMs)).toBeLessThan(100);
    }),
    { numRuns: 200 },
  );
});
