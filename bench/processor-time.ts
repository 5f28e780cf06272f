import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Measure, median } from './rounds.ts';

/** The length of a tick in /proc/PID/stat. Linux reports 100 ticks per second there, whatever the rate of the kernel's timer is. */
const TICK_MS = 10;

/**
 * The processor time of a process and its running children, in milliseconds. It includes the time of the ended children of each of
 * these processes. NaN except on Linux.
 */
export const processorMs = (pid: number): number => totalMs((each) => each.pid === pid || each.parent === pid);

/** The processor time of all running servers of a checkout and of their ended children, in milliseconds. NaN except on Linux. */
function serversMs(folder: string): number {
  const file = join(folder, 'bench/serve.ts');
  return totalMs(({ pid }) => commandOf(pid).includes(file));
}

function totalMs(isCounted: (process: ProcessTimes) => boolean): number {
  if (process.platform !== 'linux') return Number.NaN;
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readStat(Number(name)) ?? []) : []));
  return all.filter(isCounted).reduce((sum, each) => sum + each.ticks, 0) * TICK_MS;
}

interface ProcessTimes {
  pid: number;
  parent: number;
  ticks: number;
}

/** The times of a process; undefined if it has ended. */
function readStat(pid: number): ProcessTimes | undefined {
  try {
    // The name of the program, in parentheses, may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    const [user, system, userOfChildren, systemOfChildren] = fields.slice(11, 15).map(Number);
    return { pid, parent: Number(fields[1]), ticks: user! + system! + userOfChildren! + systemOfChildren! };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

/**
 * Extends a measurement: it also records the processor time of a checkout's servers per unit of work. This time varies less than rates.
 * The first call warms up (`alternate`), so its time does not count.
 */
export function withServerTime(measure: Measure, folder: string): { measure: Measure; medianUs: () => number } {
  const timesUs: number[] = [];
  return {
    measure: async (seconds) => {
      const before = serversMs(folder);
      const rate = await measure(seconds);
      timesUs.push(((serversMs(folder) - before) * 1000) / (rate * seconds));
      return rate;
    },
    medianUs: () => median(timesUs.slice(1)),
  };
}
