import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Measure, median } from './rounds.ts';

/** The kernel counts processor time in hundredths of a second. */
const TICK_US = 10_000;

/** The processor time of all servers of a checkout since their start, in microseconds. NaN where the kernel has no /proc. */
export function serverTimeUs(folder: string): number {
  const file = join(folder, 'bench/serve.ts');
  try {
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandOf(name).includes(file));
    return processes.reduce((sum, name) => sum + ticksOf(name) * TICK_US, 0);
  } catch {
    return Number.NaN;
  }
}

function commandOf(process: string): string[] {
  try {
    return readFileSync(`/proc/${process}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

/** User and system time of all threads of a process. The fields follow its name, which may contain spaces. */
function ticksOf(process: string): number {
  const fields = readFileSync(`/proc/${process}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** A measurement that also records the server's processor time per unit of work. It varies less than rates if other work runs. */
export function withServerTime(measure: Measure, folder: string): { measure: Measure; medianUs: () => number } {
  const times: number[] = [];
  return {
    measure: async (seconds) => {
      const before = serverTimeUs(folder);
      const rate = await measure(seconds);
      times.push((serverTimeUs(folder) - before) / (rate * seconds));
      return rate;
    },
    medianUs: () => median(times),
  };
}
