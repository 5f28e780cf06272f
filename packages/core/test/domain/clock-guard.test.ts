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
const HOUR = 3_600_000;

/** A machine whose clocks a test sets, sampled once a second as the server does. */
class Machine {
  steadyMs = 1_000;
  wallAheadMs = 0;
  databaseAheadMs = 0;
  readonly guard = new ClockGuard(this.read());

  read() {
    return { wallMs: START + this.steadyMs + this.wallAheadMs, steadyMs: this.steadyMs };
  }

  /** Lets time pass and returns what is wrong at its end. */
  pass(ms: number): ClockFault | undefined {
    let fault: ClockFault | undefined;
    for (let passed = 0; passed < ms; passed += 1_000) {
      this.steadyMs += 1_000;
      this.guard.observe(this.read());
      fault = this.compare();
    }
    return fault;
  }

  /** One reading of the database's clock, answered after `tookMs`. */
  compare(tookMs = 10): ClockFault | undefined {
    const before = this.read();
    const databaseMs = START + this.steadyMs + this.databaseAheadMs;
    this.steadyMs += tookMs;
    return this.guard.compare({ before, after: this.read(), databaseMs });
  }
}

describe('clocks that agree', () => {
  test('are safe, also when they drift apart slowly and are corrected', () => {
    const machine = new Machine();
    for (let minute = 0; minute < 300; minute += 1) {
      machine.wallAheadMs += 6; // 100 millionths
      machine.databaseAheadMs += 6;
      expect(machine.pass(60_000)).toBeUndefined();
    }
  });

  test('are safe when the answer of the database took long: its clock was read somewhere in between', () => {
    expect(new Machine().compare(12_000)).toBeUndefined();
  });

  test.for([-CLOCK_DIFFERENCE_MAX_MS, CLOCK_DIFFERENCE_MAX_MS])('are safe within the limit: %i ms', (ms) => {
    const machine = new Machine();
    machine.databaseAheadMs = ms;
    expect(machine.compare()).toBeUndefined();
    machine.wallAheadMs = ms;
    expect(machine.guard.observe(machine.read())).toBeUndefined();
  });
});

describe("a jump of the server's clock", () => {
  test.for([HOUR, -HOUR, 20 * 365 * 24 * HOUR, CLOCK_DIFFERENCE_MAX_MS + 100])(
    'by %i ms is noticed at once, before the database is asked',
    (ms) => {
      const machine = new Machine();
      machine.pass(3_000);
      machine.wallAheadMs = ms;
      const fault = machine.guard.observe(machine.read());
      expect(fault).toMatchObject({ kind: 'jumped', clearsInMs: null });
      expect(Math.abs(fault!.aheadMs - ms)).toBeLessThan(100);
    },
  );

  test('that the database does not share lasts until the clock is put right, and a little longer', () => {
    const machine = new Machine();
    machine.pass(3_000);
    machine.wallAheadMs = HOUR;
    expect(machine.pass(2 * HOUR)).toMatchObject({ kind: 'jumped', clearsInMs: null });
    machine.wallAheadMs = 0;
    expect(machine.pass(CLOCK_SETTLING_MS - 1_000)).toMatchObject({ kind: 'settling' });
    expect(machine.pass(2_000)).toBeUndefined();
  });

  test.for([
    [10_000, JUMP_ACCEPTED_MS_MIN],
    [60_000, 60_000],
    [20 * 365 * 24 * HOUR, JUMP_ACCEPTED_MS_MAX],
  ] as const)('by %i ms that the database shares is accepted after it stood for %i ms', ([ms, standsMs]) => {
    const machine = new Machine();
    machine.pass(3_000);
    machine.wallAheadMs = ms;
    machine.databaseAheadMs = ms;
    const fault = machine.pass(standsMs * 0.8);
    expect(fault?.kind).toBe('jumped');
    expect(fault?.clearsInMs).toBeLessThan(standsMs);
    expect(machine.pass(standsMs * 0.3 + 2_000)).toBeUndefined();
    expect(machine.guard.believedDatabaseMs(machine.steadyMs)! - START - machine.steadyMs - ms).toBe(0);
  });

  test('that goes on jumping is never accepted', () => {
    const machine = new Machine();
    machine.pass(3_000);
    for (let jump = 1; jump < 200; jump += 1) {
      machine.wallAheadMs = jump * 8_000;
      machine.databaseAheadMs = machine.wallAheadMs;
      expect(machine.pass(5_000)?.kind).toBe('jumped');
    }
  });

  test('that brings a clock to the time that the database had all along is a correction: it is accepted soon', () => {
    const machine = new Machine();
    machine.databaseAheadMs = HOUR;
    expect(machine.pass(60_000)).toEqual({ kind: 'apart', aheadMs: expect.any(Number), clearsInMs: null });
    machine.wallAheadMs = HOUR;
    expect(machine.pass(JUMP_ACCEPTED_MS_MIN - 2_000)?.kind).toBe('jumped');
    expect(machine.pass(8_000)).toBeUndefined();
  });
});

describe("a jump of the database's clock", () => {
  test.for([HOUR, -HOUR])('by %i ms is a fault until it is put right', (ms) => {
    const machine = new Machine();
    machine.pass(3_000);
    machine.databaseAheadMs = ms;
    expect(machine.compare()).toMatchObject({ kind: 'apart', clearsInMs: null });
    expect(machine.pass(60_000)?.kind).toBe('apart');
    machine.databaseAheadMs = 0;
    expect(machine.compare(30_000)?.kind).toBe('apart'); // an answer that took this long shows no agreement
    expect(machine.pass(1_000)?.kind).toBe('settling');
    expect(machine.pass(CLOCK_SETTLING_MS + 1_000)).toBeUndefined();
  });
});

test('whatever the clocks do: nothing is safe in the moment of a jump, and right clocks are safe again in the end', () => {
  const step = fc.record({
    wall: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
    database: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
    passMs: fc.integer({ min: 0, max: 60_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      const machine = new Machine();
      machine.pass(2_000);
      for (const { wall, database, passMs } of steps) {
        const before = machine.wallAheadMs;
        machine.wallAheadMs = wall;
        machine.databaseAheadMs = database;
        const fault = machine.compare();
        const apart = Math.abs(wall - database) > CLOCK_DIFFERENCE_MAX_MS + 20;
        const jumped = Math.abs(wall - before) > CLOCK_DIFFERENCE_MAX_MS * 2 + 20;
        if (apart) expect(fault).toBeDefined();
        if (
          jumped &&
          machine.guard.believedDatabaseMs(machine.steadyMs)! + 2 * CLOCK_DIFFERENCE_MAX_MS < START + machine.steadyMs + wall
        )
          expect(fault).toBeDefined();
        machine.pass(passMs);
      }
      machine.wallAheadMs = 0;
      machine.databaseAheadMs = 0;
      expect(machine.pass(JUMP_ACCEPTED_MS_MAX + 60_000)).toBeUndefined();
      expect(Math.abs(machine.guard.believedDatabaseMs(machine.steadyMs)! - START - machine.steadyMs)).toBeLessThan(100);
    }),
    { numRuns: 200 },
  );
});
