import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { comparison } from '../bench/compare.ts';
import { type KeptResult, keepResult, keptRow, machineClass, newestRows, type PartRow } from '../bench/kept-results.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-results-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const row = (overrides: Partial<PartRow>): PartRow => ({
  part: 'audit',
  work: 'audit',
  limit: 'tiny POST',
  unit: '/s',
  rate: 1000,
  limitRate: 2000,
  ratio: 0.5,
  rounds: [],
  ...overrides,
});
const result = (date: string, overrides: Partial<KeptResult>): KeptResult => ({
  date,
  commit: 'aaaaaaa',
  machine: machineClass(),
  loadAverage: { start: 0, end: 1 },
  rounds: 5,
  seconds: 4,
  rows: [keptRow(row({}))],
  ...overrides,
});

describe('kept results', () => {
  test('newestRows returns the newest row of each part, work and limit, and only from the same class of machine', () => {
    keepResult(folder, result('2026-11-20T10:00:00.000Z', { commit: 'ccccccc', rows: [keptRow(row({ ratio: 0.4 }))] }));
    keepResult(folder, result('2026-11-19T10:00:00.000Z', { rows: [keptRow(row({})), keptRow(row({ part: 'traces' }))] }));
    const other = { ...machineClass(), cores: 1000 };
    keepResult(folder, result('2026-11-21T10:00:00.000Z', { machine: other, rows: [keptRow(row({ ratio: 0.9 }))] }));
    const kept = newestRows(folder, machineClass());
    expect(kept.get('audit | audit | tiny POST')).toMatchObject({ ratio: 0.4, commit: 'ccccccc' });
    expect(kept.get('traces | audit | tiny POST')).toMatchObject({ ratio: 0.5, commit: 'aaaaaaa' });
  });

  test('newestRows returns nothing for an absent folder', () => {
    expect(newestRows(join(folder, 'absent'), machineClass())).toEqual(new Map());
  });

  test('the class of a machine has no host name', () => {
    expect(Object.keys(machineClass())).toEqual(['platform', 'processor', 'cores', 'gib', 'node']);
  });
});

test('a comparison shows each row with its kept row, or with "none" if there is no kept row', () => {
  keepResult(folder, result('2026-11-20T10:00:00.000Z', {}));
  const rows = [row({ rate: 800, ratio: 0.6 }), row({ part: 'traces' })];
  const [, , audit, traces] = comparison(rows, newestRows(folder, machineClass())).split('\n');
  const cells = (line: string | undefined) => line!.split('|').map((cell) => cell.trim());
  expect(cells(audit).slice(4, -1)).toEqual(['2026-11-20 aaaaaaa', '0.8', '0.5', '0.6', '1.2']);
  expect(cells(traces).slice(4, -1)).toEqual(['none', '', '', '0.5', '']);
});

describe('the benchmark with --against', () => {
  const command = fileURLToPath(new URL('../bench/run.ts', import.meta.url));

  test.each([
    ['--keep', ['--keep'], '--against cannot be combined with --keep or --compare'],
    ['--compare', ['--compare'], '--against cannot be combined with --keep or --compare'],
    [
      'a part that cannot be compared',
      ['--only', 'audit,gate'],
      '--only with --against takes traces, otlp, telemetry, audit, promotion; got "gate"',
    ],
  ])('rejects %s with exit code 2 and measures nothing', (_what, options, message) => {
    const args = [command, '--against', '/nowhere', ...options];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: `${message}\n` });
  });
});
