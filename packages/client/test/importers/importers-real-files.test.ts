import { describe, expect, test } from 'vitest';
import { importDeepEval } from '../../src/importers/deepeval.ts';
import { importInspect } from '../../src/importers/inspect.ts';
import { importJUnit } from '../../src/importers/junit.ts';
import { importPromptfoo } from '../../src/importers/promptfoo.ts';
import { changedResultsFile, faultOf, resultsFile } from '../fixtures/results/import.ts';

// Real tools wrote the files. fixtures/results/make/README.md lists the versions and describes how to make the files again.

const junit = (name: string) => importJUnit(resultsFile(name));

describe('if a report contradicts its totals, the worse value counts', () => {
  test('jest-junit with test.todo: a suite that counts 2 cases and lists 11 has 11 cases, of which 1 passed', () => {
    const { cases, pass_rate, notes } = junit('jest-todo.xml');
    expect(cases).toEqual({ total: 11, passed: 1, failed: 1, errored: 9, skipped: 0 });
    expect(pass_rate).toBe(9.0909);
    expect(notes).toContain('suite "refunds" counts 2 cases with 1 passed, and lists 11 with 10 passed');
  });

  test('pytest 8: a failed case with a failing teardown is listed twice and counted once', () => {
    const { cases, notes } = junit('pytest8-teardown.xml');
    expect(cases).toEqual({ total: 6, passed: 1, failed: 1, errored: 2, skipped: 2 });
    expect(notes).toContain('suite "pytest" counts 5 cases with 1 passed, and lists 6 with 2 passed');
  });

  test('pytest 8: a passed case with a failing teardown is listed once and counted twice', () => {
    expect(junit('pytest8-closing.xml').cases).toEqual({ total: 3, passed: 1, failed: 0, errored: 2, skipped: 0 });
  });

  test('node:test: a failing parent of passed cases appears only in the totals and counts as errored', () => {
    const { cases, notes } = junit('node-test-parents.xml');
    expect(cases).toEqual({ total: 6, passed: 3, failed: 0, errored: 1, skipped: 2 });
    expect(notes).toContain('the report counts 6 cases with 3 passed, and lists 5 with 3 passed');
  });

  // node:test counts a describe within a describe as one test, so only the outcome of the inner describe is compared.
  test.each([
    ['a failure that the suite does not list', { failures: 'failures="1"' }],
    ['a skipped case that the suite does not list', { skipped: 'skipped="1"' }],
    ['an error that the suite does not list', { errors: 'errors="1"' }],
  ])('node:test: the totals of a suite are compared with its parts: %s', (_what, total) => {
    const [name, text] = Object.entries(total)[0]!;
    for (const suite of ['orders', 'refunds']) {
      const changed = new RegExp(`(<testsuite name="${suite}"[^>]*?)${name}="0"`);
      const report = Buffer.from(resultsFile('node-test-nested.xml')).toString().replace(changed, `$1${text}`);
      const { cases, notes } = importJUnit(Buffer.from(report));
      expect(cases!.passed).toBeLessThan(5);
      expect(notes).toContain(`suite "${suite}" counts`);
    }
  });

  test.each(['fail', 'cancelled', 'skipped', 'todo'])(
    'node:test: cases that the final totals count as `%s` count as not passed',
    (name) => {
      const text = Buffer.from(resultsFile('node-test-nested.xml')).toString();
      const { cases } = importJUnit(Buffer.from(text.replace(`<!-- ${name} 0 -->`, `<!-- ${name} 2 -->`)));
      expect(cases).toMatchObject({ total: 7, passed: 3, errored: 4 });
    },
  );

  test('totals that are not numbers are rejected', () => {
    const report = '<testsuite name="s" tests="2" failures="NaN"><testcase/><testcase/></testsuite>';
    expect(faultOf(() => importJUnit(Buffer.from(report)))).toBe('contradictory');
  });
});

describe('a consistent report keeps its counts', () => {
  test.each([
    ['jest-tools.xml', { total: 3, passed: 3, failed: 0, errored: 0, skipped: 0 }],
    ['vitest.xml', { total: 5, passed: 2, failed: 1, errored: 0, skipped: 2 }],
    ['pytest-teardown.xml', { total: 6, passed: 2, failed: 1, errored: 1, skipped: 2 }],
    ['pytest-closing.xml', { total: 2, passed: 1, failed: 0, errored: 1, skipped: 0 }],
    ['node-test-nested.xml', { total: 5, passed: 5, failed: 0, errored: 0, skipped: 0 }],
  ])('%s', (name, cases) => {
    const report = junit(name);
    expect(report.cases).toEqual(cases);
    expect(report.notes).not.toContain('contradict');
    expect(report.completeness).toBe('unknown');
  });

  // Older versions of Node also count a failed suite as skipped.
  test.each([1, 2])(
    'node:test: a suite that contains suites with failed, skipped and passed cases, and counts %i as skipped',
    (skipped) => {
      const failed =
        '<testsuite name="b" tests="2" failures="1" skipped="0"><testcase/><testcase><failure/></testcase></testsuite>';
      const skips =
        '<testsuite name="s" tests="2" failures="0" skipped="1"><testcase/><testcase><skipped/></testcase></testsuite>';
      const passed = '<testsuite name="g" tests="2" failures="0" skipped="0"><testcase/><testcase/></testsuite>';
      const outer = `<testsuite name="o" tests="3" failures="1" skipped="${skipped}">${failed}${skips}${passed}</testsuite>`;
      const totals = ['tests 6', 'suites 4', 'pass 4', 'fail 1', 'cancelled 0', 'skipped 1', 'todo 0'];
      const report = importJUnit(
        Buffer.from(`<testsuites>${outer}${totals.map((each) => `<!-- ${each} -->`).join('')}</testsuites>`),
      );
      expect(report.cases).toEqual({ total: 6, passed: 4, failed: 1, errored: 0, skipped: 1 });
      expect(report.notes).not.toContain('contradict');
    },
  );

  test('totals that count a nested describe as one test are a contradiction, except in a report of node:test', () => {
    const text = Buffer.from(resultsFile('node-test-nested.xml')).toString();
    const withoutComments = importJUnit(Buffer.from(text.replaceAll(/<!--.*?-->/g, '')));
    expect(withoutComments.cases).toMatchObject({ total: 5, passed: 2, errored: 3 });
  });

  test('excluded skipped cases stay in the total, and the record marks the exclusion', () => {
    const report = importJUnit(resultsFile('vitest.xml'), { ignoreSkipped: true });
    expect(report).toMatchObject({ pass_rate: 66.6666, skipped_excluded: true, cases: { total: 5, passed: 2, skipped: 2 } });
  });
});

describe('time of the run', () => {
  test.each([
    ['jest-tools.xml', /^2026-11-22T\d\d:\d\d:\d\d\.000Z$/],
    ['vitest.xml', /^2026-11-22T\d\d:\d\d:\d\d\.\d{3}Z$/],
    ['node-test-nested.xml', /^2026-11-22T\d\d:\d\d:\d\d\.\d{3}Z$/],
    ['pytest-closing.xml', /^2026-11-22T(1[89]|2\d):\d\d:\d\d\.\d{3}Z$/],
  ])('is read from %s', (name, at) => {
    expect(junit(name).evaluated_at).toMatch(at);
  });

  test('without a time zone is used only if jest-junit wrote it; otherwise the notes suggest --evaluated-at', () => {
    const importWithAttributes = (attributes: string) =>
      importJUnit(Buffer.from(`<testsuite ${attributes}><testcase/></testsuite>`));
    const fromAnotherTool = importWithAttributes('name="s" tests="1" timestamp="2026-11-20T09:30:00"');
    expect(fromAnotherTool).not.toHaveProperty('evaluated_at');
    expect(fromAnotherTool.notes).toContain('give --evaluated-at');
    const jestAttributes = 'name="s" errors="0" failures="0" skipped="0" timestamp="2026-11-20T09:30:00" time="1" tests="1"';
    expect(importWithAttributes(jestAttributes).evaluated_at).toBe('2026-11-20T09:30:00.000Z');
  });

  test('is not taken from a day that does not exist', () => {
    const importWithTimestamp = (at: string) =>
      importJUnit(Buffer.from(`<testsuite name="s" timestamp="${at}"><testcase/></testsuite>`));
    expect(importWithTimestamp('2024-02-29T23:00:00-02:00').evaluated_at).toBe('2024-03-01T01:00:00.000Z');
    expect(importWithTimestamp('2026-02-30T00:00:00Z')).not.toHaveProperty('evaluated_at');
  });

  test('is not taken from a suite of jest-junit whose file could not be loaded', () => {
    const suite = (at: string, errors: number) =>
      `<testsuite name="s" errors="${errors}" failures="0" skipped="0" timestamp="${at}" time="0" tests="1"><testcase/></testsuite>`;
    const report = `<testsuites>${suite('2026-11-20T09:30:00', 0)}${suite('1970-01-01T00:00:00', 1)}</testsuites>`;
    expect(importJUnit(Buffer.from(report))).toMatchObject({
      evaluated_at: '2026-11-20T09:30:00.000Z',
      notes: expect.not.stringContaining('time zone'),
    });
  });

  test('is the time of the earliest suite', () => {
    const suite = (at: string) => `<testsuite timestamp="${at}"><testcase/></testsuite>`;
    const report = `<testsuites>${suite('2026-11-20T09:30:00+01:00')}${suite('2026-11-20T09:00:00.5Z')}</testsuites>`;
    expect(importJUnit(Buffer.from(report)).evaluated_at).toBe('2026-11-20T08:30:00.000Z');
  });

  test.each([
    ['a capital letter in its name', 'Timestamp="2020-01-01T00:00:00Z"'],
    ['a prefix before its name', 'xmlns:n="urn:n" n:timestamp="2020-01-01T00:00:00Z"'],
    ['two values, of which the earliest counts', 'timestamp="2026-11-20T09:30:00Z" TimeStamp="2020-01-01T00:00:00Z"'],
  ])('is read from a timestamp with %s', (_what, attributes) => {
    const suite = `<testsuite name="s" tests="1" ${attributes}><testcase/></testsuite>`;
    expect(importJUnit(Buffer.from(suite)).evaluated_at).toBe('2020-01-01T00:00:00.000Z');
  });

  test('is read from files of promptfoo and Inspect, but files of DeepEval contain no time', () => {
    expect(importPromptfoo(resultsFile('promptfoo-whole.json')).evaluated_at).toMatch(/^2026-11-22T/);
    expect(importInspect(resultsFile('inspect-whole.eval')).evaluated_at).toMatch(/^2026-11-22T/);
    const run = importDeepEval(resultsFile('deepeval-run.json'));
    expect(run).not.toHaveProperty('evaluated_at');
    expect(run.notes).toContain('contains no time of the run');
  });
});

describe('unclear time of the run', () => {
  const IGNORED_TIME_NOTE = 'The time of the run is invalid or has no time zone, and is ignored: give --evaluated-at.';

  // Older logs contain such times, and Inspect itself reads them as UTC.
  test('without a time zone is read as UTC from a log of Inspect, as Inspect does, and the notes say so', () => {
    const log = changedResultsFile('inspect.json', ({ eval: spec, stats }) => {
      spec.created = '2024-05-05T07:59:30';
      stats.started_at = '2024-05-05T07:59:35';
    });
    expect(importInspect(log)).toMatchObject({
      evaluated_at: '2024-05-05T07:59:35.000Z',
      notes: expect.stringContaining('The time of the run has no time zone, and is read as UTC.'),
    });
  });

  test.each(['2024-01-01T00:00:00', 'Fri Jan 05 2024'])('is ignored in a file of promptfoo, and the notes say so: %s', (at) => {
    const file = changedResultsFile('promptfoo.json', ({ results, metadata }) => {
      results.timestamp = at;
      delete metadata.evaluationCreatedAt;
    });
    expect(importPromptfoo(file)).not.toHaveProperty('evaluated_at');
    expect(importPromptfoo(file).notes).toContain(IGNORED_TIME_NOTE);
  });

  test('that is invalid is ignored in a log of Inspect, even of an unfinished run, and the notes say so', () => {
    for (const status of ['success', 'started']) {
      const log = changedResultsFile('inspect.json', (value) => {
        value.status = status;
        value.eval.created = value.stats.started_at = '05/05/2024';
      });
      expect(importInspect(log)).not.toHaveProperty('evaluated_at');
      expect(importInspect(log).notes).toContain(IGNORED_TIME_NOTE);
    }
  });

  test('differs from a missing time, for which the notes say that the file contains no time', () => {
    const log = changedResultsFile('inspect.json', ({ eval: spec, stats }) => {
      delete spec.created;
      stats.started_at = '';
    });
    const file = changedResultsFile('promptfoo.json', ({ results, metadata }) => {
      delete results.timestamp;
      delete metadata.evaluationCreatedAt;
    });
    for (const { notes } of [importInspect(log), importPromptfoo(file)])
      expect(notes).toContain('The file contains no time of the run.');
  });
});

describe('promptfoo', () => {
  test('a full run is complete', () => {
    expect(importPromptfoo(resultsFile('promptfoo-whole.json'))).toMatchObject({
      completeness: 'complete',
      cases: { total: 6, passed: 5, failed: 1, errored: 0, skipped: 0 },
      suite: { name: 'Order questions' },
    });
  });

  test.each([
    ['promptfoo-first.json', 'it has 4 results, but its tests, prompts and providers give at least 6'],
    ['promptfoo-repeat.json', 'it has 4 results, but its tests, prompts and providers give at least 12'],
    ['promptfoo-range.json', 'it was run with filterRange'],
  ])('%s of a filtered run is rejected, or recorded as partial with allowPartial', (name, why) => {
    expect(faultOf(() => importPromptfoo(resultsFile(name)))).toBe('partial');
    expect(() => importPromptfoo(resultsFile(name))).toThrow(why);
    expect(importPromptfoo(resultsFile(name), { allowPartial: true })).toMatchObject({
      completeness: 'partial',
      notes: expect.stringContaining(`Partial: ${why}`),
    });
  });

  test('a filtered run is partial, even if the file has an empty list of scenarios, as older versions write it', () => {
    const olderFile = changedResultsFile('promptfoo-first.json', ({ config }) => (config.scenarios = []));
    expect(faultOf(() => importPromptfoo(olderFile))).toBe('partial');
  });

  test('a run with tests from another file is complete, and one with scenarios has unknown completeness', () => {
    expect(importPromptfoo(resultsFile('promptfoo-elsewhere.json')).completeness).toBe('complete');
    expect(importPromptfoo(resultsFile('promptfoo-scenarios.json')).completeness).toBe('unknown');
  });

  test('the worse count applies when statistics and results differ', () => {
    const fileWithBetterStatistics = changedResultsFile('promptfoo-whole.json', ({ results }) =>
      Object.assign(results.stats, { successes: 6, failures: 0 }),
    );
    expect(importPromptfoo(fileWithBetterStatistics)).toMatchObject({ cases: { total: 6, passed: 5, failed: 0, errored: 1 } });
  });
});

describe('Inspect AI', () => {
  test('a full run is complete, even with several epochs', () => {
    expect(importInspect(resultsFile('inspect-whole.eval'))).toMatchObject({
      ...{ completeness: 'complete', pass_rate: 66.6666, category: 'safety', suite: { name: 'orders', version: '3' } },
      cases: { total: 6, errored: 0, skipped: 0 },
    });
    expect(importInspect(resultsFile('inspect-epochs.json'))).toMatchObject({ completeness: 'complete', cases: { total: 18 } });
  });

  test('a sample with an error counts as not passed', () => {
    expect(importInspect(resultsFile('inspect-errors.json'))).toMatchObject({
      pass_rate: 50,
      cases: { total: 6, errored: 1, skipped: 0 },
    });
  });

  test.each([
    ['inspect-limit.json', 'it ran 2 of the 6 samples of its dataset (--limit)'],
    ['inspect-sample-id.json', 'it ran 2 of the 6 samples of its dataset (--sample-id)'],
  ])('%s of a partial run is rejected unless partial runs are allowed', (name, why) => {
    expect(faultOf(() => importInspect(resultsFile(name)))).toBe('partial');
    expect(() => importInspect(resultsFile(name))).toThrow(why);
    expect(importInspect(resultsFile(name), { allowPartial: true })).toMatchObject({ completeness: 'partial', pass_rate: 100 });
  });

  test.each([
    ['several scorers', 'inspect-scorers.json', 'match/accuracy, lenient/accuracy', 'match/accuracy', 66.6666],
    ['a scorer of several values', 'inspect-dictionary.json', 'safety/accuracy, tone/mean', 'tone/mean', 50],
    ['a metric other than accuracy', 'inspect-mean.json', '--metric graded/mean', 'graded/mean', 75],
  ])(
    '%s: the user must choose a metric, and the message does not offer the metric stderr',
    (_what, name, listed, metric, rate) => {
      expect(faultOf(() => importInspect(resultsFile(name)))).toBe('ambiguous');
      expect(() => importInspect(resultsFile(name))).toThrow(listed);
      expect(() => importInspect(resultsFile(name))).not.toThrow('stderr');
      expect(importInspect(resultsFile(name), { metric })).toMatchObject({ pass_rate: rate });
    },
  );
});

describe('DeepEval', () => {
  test('a case passes when all its metrics pass', () => {
    expect(importDeepEval(resultsFile('deepeval-run.json'))).toMatchObject({
      ...{ pass_rate: 25, completeness: 'unknown' },
      cases: { total: 4, passed: 1, failed: 3, errored: 0, skipped: 0 },
    });
  });

  test('a passed case with a failed metric computation has no verdict', () => {
    const runWithMetricError = changedResultsFile('deepeval-run.json', ({ testCases }) => {
      testCases[0].metricsData[1] = { name: 'Politeness', error: 'it broke down' };
    });
    expect(importDeepEval(runWithMetricError).cases).toMatchObject({ passed: 0, errored: 1 });
  });
});
