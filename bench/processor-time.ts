import { readdirSync, readFileSync } from 'node:fs';

/** The length of a tick in /proc/PID/stat: 100 per second on Linux, whatever the kernel's own rate is. */
const TICK_MS = 10;

/** The processor time of a process, its children and its ended children, in milliseconds. Linux only; NaN elsewhere. */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readStat(Number(name)) ?? []) : []));
  const own = all.filter((each) => each.pid === pid || each.parent === pid);
  return own.reduce((sum, each) => sum + each.ticks, 0) * TICK_MS;
}

/** The times of a process that is still there. */
function readStat(pid: number): { pid: number; parent: number; ticks: number } | undefined {
  try {
    // The name of the program, in parentheses, may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    const [user, system, ofChildren, systemOfChildren] = fields.slice(11, 15).map(Number);
    return { pid, parent: Number(fields[1]), ticks: user! + system! + ofChildren! + systemOfChildren! };
  } catch {
    return undefined;
  }
}
