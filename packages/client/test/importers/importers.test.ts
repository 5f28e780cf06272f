import { describe, expect, test } from 'vitest';
import { importDeepEval } from '../../src/importers/deepeval.ts';
import { harnessIdOf } from '../../src/importers/harness-id.ts';
import { importPromptfoo } from '../../src/importers/promptfoo.ts';
import { changedResultsFile, faultOf, replacedResultsFile, resultsFile } from '../fixtures/results/import.ts';

describe('promptfoo', () => {
  test('imports pass rate, counts, name and category, and counts errors as not passed', () => {
    expect(importPromptfoo(resultsFile('promptfoo.json'))).toEqual({
      tool: 'promptfoo',
      name: 'Order questions, nightly',
      category: 'regression',
      status: 'passing',
      pass_rate: 60,
      notes:
        'promptfoo: 3 of 5 cases passed (1 failed, 1 in error). Evaluation eval-k7Q-2026-11-20T09:14:02, time 2026-11-20T09:14:02.118Z, version of promptfoo 0.120.4.',
      cases: { total: 5, passed: 3, failed: 1, errored: 1, skipped: 0 },
      evaluated_at: '2026-11-20T09:14:02.118Z',
      completeness: 'unknown',
      suite: { name: 'Order questions, nightly' },
    });
  });

  test('records a run without a passed case as failing', () => {
    const fileWithoutPasses = changedResultsFile('promptfoo.json', ({ results }) => {
      results.stats = { successes: 0, failures: 5, errors: 0 };
      for (const each of results.results) each.success = false;
    });
    expect(importPromptfoo(fileWithoutPasses)).toMatchObject({ status: 'failing', pass_rate: 0 });
  });

  test('rejects a file without the counted results, as promptfoo 0.119 writes it with --no-write, and suggests a run without this option', () => {
    const fileWithoutCases = changedResultsFile('promptfoo-whole.json', ({ results }) => (results.results = []));
    expect(() => importPromptfoo(fileWithoutCases)).toThrow('run promptfoo again, without this option');
  });

  test.each([
    ['plugins', { plugins: [{ id: 'pii' }], strategies: [] }, 'red team'],
    ['empty lists, as older versions write them into every file', { plugins: [], strategies: [] }, undefined],
  ])('sets the category "red team" only if the member `redteam` has content: %s', (_what, redteam, category) => {
    const file = changedResultsFile('promptfoo-whole.json', ({ config }) => Object.assign(config, { tags: {}, redteam }));
    expect(importPromptfoo(file).category).toBe(category);
  });

  test('rejects a file whose prompts are nested too deeply', () => {
    const marked = changedResultsFile('promptfoo-whole.json', ({ config }) => (config.prompts = ['nested']));
    const nested = Buffer.from(marked)
      .toString()
      .replace('"nested"', '['.repeat(100_000) + ']'.repeat(100_000));
    expect(faultOf(() => importPromptfoo(Buffer.from(nested)))).toBe('not_this_format');
    expect(() => importPromptfoo(Buffer.from(nested))).toThrow('nested too deeply');
  });

  test('uses the worse count when statistics and cases differ, as in a filtered file', () => {
    const filteredFile = changedResultsFile('promptfoo.json', ({ results }) => {
      results.results = results.results.filter(({ success }: { success: boolean }) => success);
    });
    expect(importPromptfoo(filteredFile)).toMatchObject({ pass_rate: 60, cases: { total: 5, passed: 3 } });
    const fileWithBetterTotals = changedResultsFile('promptfoo.json', ({ results }) => {
      results.stats = { successes: 5, failures: 0, errors: 0 };
    });
    expect(importPromptfoo(fileWithBetterTotals)).toMatchObject({ pass_rate: 60, cases: { total: 5, passed: 3 } });
  });

  test('uses the worst count if the counts of the prompts differ from the statistics and the cases', () => {
    const fileWithPromptCounts = (metrics: object) =>
      changedResultsFile('promptfoo.json', ({ results }) => Object.assign(results.prompts[0].metrics, metrics));
    expect(importPromptfoo(fileWithPromptCounts({ testPassCount: 1, testFailCount: 3 }))).toMatchObject({
      ...{ pass_rate: 20, cases: { total: 5, passed: 1, failed: 1, errored: 3 } },
      notes: expect.stringContaining('2 that the statistics and the results count differently'),
    });
    expect(importPromptfoo(fileWithPromptCounts({ testFailCount: 6 })).cases).toMatchObject({ total: 10, passed: 3 });
    expect(importPromptfoo(fileWithPromptCounts({ testErrorCount: undefined })).cases).toMatchObject({ total: 5, passed: 3 });
    for (const count of ['1', -1, 1.5])
      expect(faultOf(() => importPromptfoo(fileWithPromptCounts({ testFailCount: count })))).toBe('not_this_format');
  });

  test('counts a passed case once, even if it is listed twice, and does not call the run complete', () => {
    const fileWithRepeatedCase = changedResultsFile('promptfoo-whole.json', ({ results }) => {
      const passed = results.results.filter(({ success }: { success: boolean }) => success);
      results.results[results.results.findIndex(({ success }: { success: boolean }) => !success)] = passed[0];
      results.stats = { successes: 6, failures: 0, errors: 0 };
      delete results.prompts[0].metrics;
    });
    expect(faultOf(() => importPromptfoo(fileWithRepeatedCase))).toBe('partial');
    expect(importPromptfoo(fileWithRepeatedCase, { allowPartial: true })).toMatchObject({
      ...{ completeness: 'partial', cases: { total: 6, passed: 5, errored: 1 } },
    });
  });

  // promptfoo gives two results the same test and prompt numbers if a provider has its own prompts.
  test('counts two passed cases with the same test and prompt numbers but different providers', () => {
    const file = changedResultsFile('promptfoo.json', ({ results }) => {
      Object.assign(results.results[1], { testIdx: 0, success: true, provider: { id: 'other' } });
    });
    expect(importPromptfoo(file).cases).toMatchObject({ passed: 3 });
  });

  test.each([
    ['an empty list', []],
    ['no list', undefined],
    ['an object', {}],
  ])('rejects statistics without listed cases: %s', (_what, list) => {
    const fileWithoutList = changedResultsFile('promptfoo.json', ({ results }) => (results.results = list));
    expect(faultOf(() => importPromptfoo(fileWithoutList))).toBe('contradictory');
  });

  // A result that a person marked as passed in the web viewer can have some of these contradictions.
  test.each([
    ['an error', { error: 'API error: 529 Overloaded' }],
    ['the reason of a failed assertion', { failureReason: 1 }],
    ['the reason of an error', { failureReason: 2 }],
    ['a failed grading', { gradingResult: { pass: false, score: 0 } }],
  ])('counts a case with success and %s as not passed', (_what, contradiction) => {
    const file = changedResultsFile('promptfoo.json', ({ results }) => Object.assign(results.results[0], contradiction));
    expect(importPromptfoo(file)).toMatchObject({
      ...{ pass_rate: 40, cases: { total: 5, passed: 2, failed: 1, errored: 2 } },
      notes: expect.stringContaining('1 that the statistics and the results count differently'),
    });
  });

  test.each([
    ['an empty file', Buffer.from(''), 'empty'],
    ['white space', Buffer.from(' \n'), 'empty'],
    ['a truncated file', resultsFile('promptfoo.json').subarray(0, 900), 'not_this_format'],
    ['a list', Buffer.from('[]'), 'not_this_format'],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x00]), 'not_this_format'],
    ['a file of another tool', resultsFile('deepeval.json'), 'not_this_format'],
    [
      'counts that are not numbers',
      changedResultsFile('promptfoo.json', ({ results }) => (results.stats.successes = '5')),
      'not_this_format',
    ],
    [
      'no cases',
      changedResultsFile('promptfoo.json', ({ results }) => {
        results.results = [];
        results.stats = { successes: 0, failures: 0, errors: 0 };
      }),
      'no_cases',
    ],
  ])('rejects %s with the reason', (_what, bytes, fault) => {
    expect(faultOf(() => importPromptfoo(bytes))).toBe(fault);
  });

  test('removes control characters from a description and cuts it to 512 code points', () => {
    const fileWithLongDescription = changedResultsFile('promptfoo.json', ({ config }) => {
      config.description = `line\nbreak \u0000 ${'é😀'.repeat(400)}`;
    });
    const { name } = importPromptfoo(fileWithLongDescription);
    expect(name).toBe([...`line break ${'é😀'.repeat(400)}`].slice(0, 512).join(''));
  });
});

describe('DeepEval', () => {
  test('counts cases and conversational cases, and lists the metrics in the notes', () => {
    expect(importDeepEval(resultsFile('deepeval.json'))).toEqual({
      tool: 'deepeval',
      name: 'orders nightly',
      status: 'passing',
      pass_rate: 66.6666,
      notes:
        'DeepEval: 2 of 3 cases passed (1 failed). Metrics: Answer Relevancy 1 passed, 1 failed, 0 in error; Role Adherence 1 passed, 0 failed, 0 in error. The file contains no time of the run.',
      cases: { total: 3, passed: 2, failed: 1, errored: 0, skipped: 0 },
      completeness: 'unknown',
      suite: { name: 'test_orders.py' },
    });
  });

  test('counts a case without a verdict as not passed', () => {
    const fileWithoutVerdict = changedResultsFile('deepeval.json', (run) => {
      delete run.testCases[0].success;
      run.testPassed = 1;
    });
    expect(importDeepEval(fileWithoutVerdict)).toMatchObject({ pass_rate: 33.3333, cases: { total: 3, passed: 1, errored: 1 } });
    expect(importDeepEval(fileWithoutVerdict).notes).toContain('1 without a verdict');
  });

  test('uses the worse count when totals and cases differ', () => {
    const fileWithBetterTotals = changedResultsFile('deepeval.json', (run) => (run.testPassed = 3));
    expect(importDeepEval(fileWithBetterTotals).cases).toEqual({ total: 4, passed: 2, failed: 1, errored: 1, skipped: 0 });
    const fileWithWorseTotals = changedResultsFile('deepeval.json', (run) =>
      Object.assign(run, { testPassed: 0, testFailed: 3 }),
    );
    expect(importDeepEval(fileWithWorseTotals).cases).toMatchObject({ total: 3, passed: 0 });
  });

  test('imports a run that is the member testRunData, as in .deepeval/.latest_test_run.json', () => {
    const wrappedFile = Buffer.from(
      `{"testRunData":${Buffer.from(resultsFile('deepeval.json')).toString()},"testRunLink":"https://example.test"}`,
    );
    expect(importDeepEval(wrappedFile)).toEqual(importDeepEval(resultsFile('deepeval.json')));
  });

  test.each(['NaN', 'Infinity', '-Infinity'])('accepts the number %s as Python writes it', (number) => {
    const file = replacedResultsFile('deepeval.json', [['"score": 0.91', `"score": ${number}`]]);
    expect(importDeepEval(file)).toEqual(importDeepEval(resultsFile('deepeval.json')));
  });

  test('reads NaN in a string unchanged, even if the file also has the number NaN', () => {
    const file = replacedResultsFile('deepeval.json', [
      ['"score": 0.91', '"score": NaN'],
      ['"orders nightly"', '"orders NaN \\" -Infinity"'],
    ]);
    expect(importDeepEval(file).name).toBe('orders NaN " -Infinity');
  });

  test.each([
    ['totals without listed cases', Buffer.from('{"testCases":[],"testPassed":3}'), 'contradictory'],
    ['a total that is a text', changedResultsFile('deepeval.json', (run) => (run.testFailed = '99')), 'not_this_format'],
    ['a total that is a fraction', changedResultsFile('deepeval.json', (run) => (run.testFailed = 99.5)), 'not_this_format'],
    ['a negative total', changedResultsFile('deepeval.json', (run) => (run.testPassed = -1)), 'not_this_format'],
    ['no cases', Buffer.from('{"testCases":[],"conversationalTestCases":[]}'), 'no_cases'],
    ['a file of another tool', resultsFile('promptfoo.json'), 'not_this_format'],
    ['an empty file', Buffer.from(''), 'empty'],
  ])('rejects %s with the reason', (_what, bytes, fault) => {
    expect(faultOf(() => importDeepEval(bytes))).toBe(fault);
  });
});

describe('ID of a harness', () => {
  test('is a UUID of version 5 made from the name; a name that is a UUID becomes lower case', () => {
    // The result of Python: uuid.uuid5(uuid.UUID('6f2f0a3c-3f0e-4b5e-9f0d-6a1f2a7d9c58'), 'promptfoo').
    expect(harnessIdOf('promptfoo')).toBe('fe7deafe-95d8-55df-b14d-6e124dededf8');
    expect(harnessIdOf('6F2F0A3C-3F0E-4B5E-9F0D-6A1F2A7D9C58')).toBe('6f2f0a3c-3f0e-4b5e-9f0d-6a1f2a7d9c58');
  });
});
