import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Row } from './rounds.ts';

/** The properties that two machines must share for their results to be compared. They do not contain the name of the machine. */
export interface MachineClass {
  platform: string;
  processor: string;
  cores: number;
  /** The size of the memory, in GiB. */
  gib: number;
  /** The major version of Node, such as `v24`. */
  node: string;
}

/** A row with the part of the table that it belongs to. */
export type PartRow = Row & { part: string };

/** The labels and figures of a row that are committed. */
export type KeptRow = Pick<PartRow, 'part' | 'work' | 'limit' | 'unit' | 'rate' | 'limitRate' | 'ratio'>;

/** A result that is committed, to compare later runs with it. */
export interface KeptResult {
  date: string;
  commit: string;
  machine: MachineClass;
  /** The load average of the last minute, at the start and at the end. Other work on the machine lowers all rates. */
  loadAverage: { start: number; end: number };
  rounds: number;
  seconds: number;
  rows: KeptRow[];
}

/** The class of the machine that runs this process. */
export const machineClass = (): MachineClass => ({
  platform: `${platform()}-${arch()}`,
  processor: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
  gib: Math.round(totalmem() / 2 ** 30),
  node: `v${process.versions.node.split('.')[0]}`,
});

/** Selects the members to commit. Rounds figures to four significant digits, because further digits differ in every run. */
export const keptRow = ({ part, work, limit, unit, rate, limitRate, ratio }: PartRow): KeptRow => {
  const rounded = (value: number) => Number(value.toPrecision(4));
  return { part, work, limit, unit, rate: rounded(rate), limitRate: rounded(limitRate), ratio: rounded(ratio) };
};

/** Writes a result into a folder, which it creates if needed. Returns the path of the file. The names of the files sort by date. */
export function keepResult(folder: string, result: KeptResult): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${result.date.slice(0, 16).replace(':', '')}-${result.commit}.json`);
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
  return path;
}

/** The newest kept row of each part, work and limit, by `keyOf`. Results of other classes of machine are ignored. */
export function newestRows(folder: string, machine: MachineClass): Map<string, KeptRow & Pick<KeptResult, 'date' | 'commit'>> {
  const results = filesOf(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as KeptResult)
    .filter((result) => JSON.stringify(result.machine) === JSON.stringify(machine))
    .toSorted((left, right) => left.date.localeCompare(right.date));
  return new Map(results.flatMap(({ date, commit, rows }) => rows.map((row) => [keyOf(row), { ...row, date, commit }])));
}

/** What identifies a row. */
export const keyOf = ({ part, work, limit }: Pick<KeptRow, 'part' | 'work' | 'limit'>): string => `${part} | ${work} | ${limit}`;

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
