import { deflateRawSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { importInspect } from '../../src/importers/inspect.ts';
import { decompressZstd } from '../../src/importers/zstandard.ts';
import { changedResultsFile as changedFile, faultOf, replacedResultsFile, resultsFile } from '../fixtures/results/import.ts';
import { zipOf } from '../fixtures/zip-of.ts';

const log = resultsFile('inspect.json');

/** The log without its samples, after a change. The samples would contradict changed totals. */
const changedLog = (change: Parameters<typeof changedFile>[1]) =>
  changedFile('inspect.json', (value) => {
    delete value.samples;
    change(value);
  });

describe('Inspect AI', () => {
  test('takes the pass rate from accuracy, and name, category and counts from the log', () => {
    expect(importInspect(log)).toEqual({
      tool: 'inspect_ai',
      name: 'orders/refund_limits',
      category: 'safety',
      status: 'passing',
      pass_rate: 75,
      notes: 'Inspect AI: match/accuracy 0.75 over 4 of 4 samples. Model anthropic/claude-opus.',
      cases: { total: 4, errored: 0, skipped: 0 },
      evaluated_at: '2026-11-20T09:20:12.000Z',
      completeness: 'complete',
      suite: { name: 'orders/refund_limits', version: '1' },
    });
  });

  test('counts samples with an error as not passed, although the metric omits them', () => {
    const logWithErrors = changedLog(({ results }) => {
      results.completed_samples = 2;
      results.scores[0].metrics.accuracy.value = 1;
    });
    expect(importInspect(logWithErrors)).toMatchObject({ pass_rate: 50, cases: { total: 4, errored: 2 } });
  });

  test('rounds the pass rate down to four decimals', () => {
    for (const [value, rate] of [
      [0.29, 29],
      [0.89999999996, 89.9999],
      [2 / 3, 66.6666],
    ]) {
      const log = changedLog(({ results }) => {
        results.scores[0].metrics.accuracy.value = value;
      });
      expect(importInspect(log)).toMatchObject({ pass_rate: rate });
    }
  });

  test('counts unscored samples as not passed', () => {
    const unscoredLog = changedLog(({ results }) => {
      Object.assign(results.scores[0], { scored_samples: 1, unscored_samples: 3 });
      results.scores[0].metrics.accuracy.value = 1;
    });
    expect(importInspect(unscoredLog)).toMatchObject({ pass_rate: 25 });
  });

  test('counts every sample without a score as not passed, whether it has an error, is unscored or neither', () => {
    const log = (epochs: number) =>
      changedLog(({ eval: spec, results }) => {
        spec.config.epochs = epochs;
        spec.dataset.samples = 10;
        Object.assign(results, { total_samples: 10 * epochs, completed_samples: 6 * epochs });
        Object.assign(results.scores[0], { scored_samples: 2, unscored_samples: 3 });
        results.scores[0].metrics.accuracy.value = 1;
      });
    expect(importInspect(log(1))).toMatchObject({ pass_rate: 20, cases: { total: 10, errored: 8 } });
    expect(importInspect(log(2))).toMatchObject({ pass_rate: 20, cases: { total: 20, errored: 16 } });
  });

  test('counts each epoch with an error as not passed, even if its sample was scored, in addition to the unscored samples', () => {
    const log = changedLog(({ eval: spec, results }) => {
      spec.config.epochs = 2;
      spec.dataset.samples = 10;
      Object.assign(results, { total_samples: 20, completed_samples: 15 });
      Object.assign(results.scores[0], { scored_samples: 5, unscored_samples: 5 });
      results.scores[0].metrics.accuracy.value = 1;
    });
    expect(importInspect(log)).toMatchObject({ pass_rate: 25 });
  });

  test.each([
    ['with the number of scored samples', { scored_samples: 6, unscored_samples: 0 }],
    ['of an older version, without the number of scored samples', { scored_samples: undefined, unscored_samples: undefined }],
  ])('assumes that each epoch that ended with an error belongs to a passed sample, in a log %s', (_what, samples) => {
    const log = (epochs: number, completed: number) =>
      changedLog(({ eval: spec, results }) => {
        spec.config.epochs = epochs;
        spec.dataset.samples = 6;
        Object.assign(results, { total_samples: 6 * epochs, completed_samples: completed });
        Object.assign(results.scores[0], samples);
        results.scores[0].metrics.accuracy.value = 4 / 6;
      });
    // Four of six samples passed. Each of these four ended with an error in three of four epochs.
    expect(importInspect(log(4, 12))).toMatchObject({ pass_rate: 16.6666, cases: { total: 24, errored: 12 } });
    // One of the four ended with an error in one of two epochs.
    expect(importInspect(log(2, 11))).toMatchObject({ pass_rate: 58.3333, cases: { total: 12, errored: 1 } });
  });

  test('in a log with several epochs, an accuracy with a reducer other than the mean is used only if --metric names it', () => {
    const log = (reducer: string) =>
      changedLog(({ eval: spec, results }) => {
        spec.config.epochs = 4;
        Object.assign(results, { total_samples: 16, completed_samples: 16 });
        Object.assign(results.scores[0], { reducer, scored_samples: 4, unscored_samples: 0 });
        results.scores[0].metrics.accuracy.value = 1;
      });
    expect(importInspect(log('mean'))).toMatchObject({ pass_rate: 100 });
    for (const reducer of ['max', 'mode', 'at_least_1', 'pass_at_2']) {
      expect(() => importInspect(log(reducer))).toThrow(`give --metric match@${reducer}/accuracy`);
      expect(importInspect(log(reducer), { metric: 'accuracy' })).toMatchObject({
        pass_rate: 100,
        notes: expect.stringContaining(`match@${reducer}/accuracy 1`),
      });
    }
  });

  test('in a log with one epoch, uses the accuracy with every reducer that leaves a single value unchanged', () => {
    const log = (reducer: string) => changedLog(({ results }) => Object.assign(results.scores[0], { reducer }));
    for (const reducer of ['mean', 'mode', 'median', 'max', 'at_least_1', 'pass_at_1'])
      expect(importInspect(log(reducer)).pass_rate).toBe(importInspect(log('mean')).pass_rate);
    for (const reducer of ['at_least_2', 'pass_at_2', 'own'])
      expect(() => importInspect(log(reducer))).toThrow(`give --metric match@${reducer}/accuracy`);
  });

  test('records an unfinished run without a pass rate and never as passing', () => {
    for (const [status, recorded] of [
      ['started', 'running'],
      ['error', 'failing'],
      ['cancelled', 'failing'],
    ] as const) {
      const unfinished = importInspect(changedLog((value) => (value.status = status)));
      expect(unfinished).toMatchObject({ status: recorded });
      expect(unfinished).not.toHaveProperty('pass_rate');
    }
  });

  test('records a run with invalidated samples, or with an error, as failing', () => {
    expect(importInspect(changedLog((value) => (value.invalidated = true)))).toMatchObject({ status: 'failing' });
    const invalidatedLog = changedFile('inspect.json', ({ samples }) => (samples[0].invalidation = { reason: 'wrong target' }));
    expect(importInspect(invalidatedLog)).toMatchObject({ status: 'failing', notes: expect.stringContaining('invalidated') });
    const logWithError = changedLog((value) => (value.error = { message: 'it broke down' }));
    expect(importInspect(logWithError)).toMatchObject({ status: 'failing', notes: expect.stringContaining('contains an error') });
  });

  test('with several metrics, requires the name of one, with or without its scorer', () => {
    const logWithSeveralMetrics = changedLog(({ results }) => {
      results.scores.push({
        name: 'judge',
        scorer: 'model_graded_qa',
        metrics: { accuracy: { name: 'accuracy', value: 0.5 }, mean: { name: 'mean', value: 0.29 } },
      });
    });
    expect(faultOf(() => importInspect(logWithSeveralMetrics))).toBe('ambiguous');
    expect(() => importInspect(logWithSeveralMetrics)).toThrow('match/accuracy, judge/accuracy, judge/mean');
    expect(importInspect(logWithSeveralMetrics, { metric: 'judge/accuracy' })).toMatchObject({ pass_rate: 50 });
    expect(importInspect(logWithSeveralMetrics, { metric: 'mean' })).toMatchObject({ pass_rate: 29 });
    expect(faultOf(() => importInspect(logWithSeveralMetrics, { metric: 'recall' }))).toBe('ambiguous');
  });

  test('rejects a metric that is above 1 or NaN', () => {
    const logAboveOne = changedLog(({ results }) => (results.scores[0].metrics.accuracy.value = 7.5));
    expect(faultOf(() => importInspect(logAboveOne))).toBe('ambiguous');
    const notComputed = replacedResultsFile('inspect.json', [['"value": 0.75', '"value": NaN']]);
    expect(faultOf(() => importInspect(notComputed))).toBe('ambiguous');
  });

  test.each([
    ['--limit', { limit: 1 }],
    ['--limit', { limit: [0, 2] }],
    ['--sample-id', { sample_id: [1, 2] }],
  ])('a run with %s is partial if the log does not contain the size of the dataset', (option, config) => {
    for (const samples of [undefined, 0]) {
      const limitedLog = changedLog(({ eval: spec }) => {
        Object.assign(spec.config, config);
        spec.dataset.samples = samples;
      });
      expect(faultOf(() => importInspect(limitedLog))).toBe('partial');
      expect(() => importInspect(limitedLog)).toThrow(`it was run with ${option}`);
      expect(importInspect(limitedLog, { allowPartial: true })).toMatchObject({ completeness: 'partial', pass_rate: 75 });
    }
    const logWithoutLimit = changedLog(({ eval: spec }) => delete spec.dataset.samples);
    expect(importInspect(logWithoutLimit)).toMatchObject({ completeness: 'unknown' });
  });

  test.each([
    ['no answer, false and 0', ['N', 'false', false, 0], 0],
    ['half of the samples incorrect', ['C', 'C', 'I', 'I'], 2],
    ['partly correct answers', ['P', 'P', 0.5, '0.5'], 2],
  ])('rejects an accuracy of 100 %% if the samples contradict it: %s', (_what, values, passedMax) => {
    const log = changedFile('inspect.json', ({ results, samples }) => {
      results.scores[0].metrics.accuracy.value = 1;
      for (const [index, value] of values.entries()) samples[index].scores.match.value = value;
    });
    expect(faultOf(() => importInspect(log))).toBe('contradictory');
    expect(() => importInspect(log)).toThrow(
      `its results give 4 passed samples (match/accuracy 1), but its samples give at most ${passedMax}. Score the log again`,
    );
  });

  test('with every metric, rejects a log whose results do not count its samples with errors, unless these samples were scored', () => {
    const log = changedFile('inspect.json', ({ results, samples }) => {
      results.scores[0].metrics = { share: { name: 'share', value: 1 } };
      samples[0].error = { message: 'it broke down' };
    });
    expect(() => importInspect(log, { metric: 'share' })).toThrow('but its samples give at most 3');
    const logWithScoredErrors = changedFile('inspect.json', ({ eval: spec, samples }) => {
      spec.config.score_on_error = true;
      samples[0].error = { message: 'it broke down' };
    });
    expect(importInspect(logWithScoredErrors)).toMatchObject({ pass_rate: 75 });
  });

  test('rejects a log that lists more samples than its results count', () => {
    const log = changedFile('inspect.json', ({ results, samples }) => {
      results.scores[0].metrics.accuracy.value = 1;
      for (const sample of samples) sample.scores.match.value = 'C';
      samples.push({ id: 5, epoch: 1, scores: { match: { value: 'I' } } });
    });
    expect(faultOf(() => importInspect(log))).toBe('contradictory');
    expect(() => importInspect(log)).toThrow('its results count 4 samples, but it lists 5');
  });

  test('rejects a log that lists a sample twice in one epoch', () => {
    const log = changedFile('inspect.json', ({ samples }) => {
      Object.assign(samples[1], { id: samples[0].id, epoch: samples[0].epoch });
    });
    expect(faultOf(() => importInspect(log))).toBe('contradictory');
    expect(() => importInspect(log)).toThrow('it lists the sample 1 of epoch 1 more than once');
  });

  test('counts a sample that was left unscored in one epoch as not passed in this epoch, if the log lists the sample', () => {
    const log = changedFile('inspect.json', ({ eval: spec, results, samples }) => {
      spec.config.epochs = 2;
      Object.assign(results, { total_samples: 8, completed_samples: 8 });
      results.scores[0].metrics.accuracy.value = 1;
      for (const sample of [...samples]) {
        sample.scores.match.value = 'C';
        samples.push({ ...sample, epoch: 2, scores: { match: { value: null } } });
      }
    });
    expect(importInspect(log)).toMatchObject({
      pass_rate: 50,
      notes: expect.stringContaining('listed samples that were not scored count as not passed'),
    });
  });

  test('accepts values whose meaning the scorer defines, and scores that consist of several values', () => {
    const log = (value: unknown, change: (accuracy: object) => unknown = () => {}) =>
      changedFile('inspect.json', ({ results, samples }) => {
        Object.assign(results.scores[0], { name: 'safety', scorer: 'match' });
        results.scores[0].metrics.accuracy.value = 1;
        change(results.scores[0].metrics.accuracy);
        for (const sample of samples) sample.scores.match.value = value;
      });
    for (const value of ['C', 1, true, 'yes', 'refused', ['C'], { safety: 'C', tone: 'I' }])
      expect(importInspect(log(value))).toMatchObject({ pass_rate: 100 });
    expect(faultOf(() => importInspect(log({ safety: 'I', tone: 'C' })))).toBe('contradictory');
    for (const member of ['params', 'options'])
      expect(importInspect(log('I', (accuracy) => Object.assign(accuracy, { [member]: { to_float: 'inverse' } })))).toMatchObject(
        {
          pass_rate: 100,
        },
      );
  });

  test.each([
    ['no samples', changedLog(({ results }) => Object.assign(results, { total_samples: 0, completed_samples: 0 })), 'no_cases'],
    ['more completed samples than the total', changedLog(({ results }) => (results.completed_samples = 9)), 'contradictory'],
    ['no results', changedLog((value) => delete value.results), 'no_cases'],
    ['no scores', changedLog(({ results }) => (results.scores = [])), 'ambiguous'],
    ['an empty file', Buffer.from(''), 'empty'],
    ['an unknown status', changedLog((value) => (value.status = 'fine')), 'not_this_format'],
    ['another JSON document', Buffer.from('{"status":"success"}'), 'not_this_format'],
  ])('rejects %s with the reason', (_what, bytes, fault) => {
    expect(faultOf(() => importInspect(bytes))).toBe(fault);
  });
});

describe('.eval archive of Inspect AI', () => {
  const header = changedLog(() => {});

  test('of an older version takes the number of scored samples from its reductions', () => {
    const olderLog = (reductions?: unknown) =>
      changedLog((value) => {
        Object.assign(value, { reductions });
        Object.assign(value.results.scores[0], { scored_samples: undefined, unscored_samples: undefined });
        value.results.scores[0].metrics.accuracy.value = 1;
      });
    const samples = [
      { sample_id: 1, value: 1 },
      { sample_id: 2, value: 1 },
      { sample_id: 3, value: null },
    ];
    const reductions = [
      { scorer: 'match', reducer: 'max', samples: [] },
      { scorer: 'match', samples },
    ];
    const archive = zipOf([
      { name: 'header.json', method: 0, data: Buffer.from(olderLog()) },
      { name: 'reductions.json', method: 0, data: Buffer.from(JSON.stringify(reductions)) },
    ]);
    for (const bytes of [archive, olderLog(reductions)])
      expect(importInspect(bytes)).toMatchObject({ pass_rate: 50, cases: { total: 4, errored: 2 } });
    expect(importInspect(olderLog())).toMatchObject({ pass_rate: 100 });
  });

  test.each([
    ['stored', 0, (bytes: Buffer) => bytes],
    ['deflated', 8, (bytes: Buffer) => deflateRawSync(bytes)],
    ['compressed with Zstandard', 93, (bytes: Buffer) => zstdCompressSync(bytes)],
  ])('that is %s gives the same result as JSON', (_how, method, compress) => {
    const archive = zipOf([
      { name: '_journal/start.json', method, data: compress(Buffer.from('{}')) },
      { name: 'header.json', method, data: compress(Buffer.from(header)) },
    ]);
    expect(importInspect(archive)).toEqual(importInspect(log));
  });

  test('without a header is rejected, because the run is possibly unfinished', () => {
    const archive = zipOf([{ name: '_journal/start.json', method: 0, data: Buffer.from('{}') }]);
    expect(() => importInspect(archive)).toThrow('the run is not finished');
  });

  test('with Zstandard data is decompressed in JavaScript if Node does not support it; truncated or too large data is rejected', () => {
    const compressed = zstdCompressSync(Buffer.from(header));
    const inJavaScript = (data: Uint8Array, bytesMax = 1_000_000) => decompressZstd(data, bytesMax, null);
    expect(Buffer.from(inJavaScript(compressed)).equals(Buffer.from(header))).toBe(true);
    for (let end = 0; end < compressed.length; end += 7) expect(() => inJavaScript(compressed.subarray(0, end))).toThrow();
    expect(() => inJavaScript(compressed, header.length - 1)).toThrow();
    expect(() => inJavaScript(zstdCompressSync(Buffer.alloc(2_000_000)))).toThrow('more memory');
  });

  test('is rejected if it is truncated, a decompression bomb, or compressed by an unknown method', () => {
    const archive = zipOf([{ name: 'header.json', method: 8, data: deflateRawSync(header) }]);
    for (let end = 4; end < archive.length; end += 7)
      expect(faultOf(() => importInspect(archive.subarray(0, end)))).toBe('not_this_format');
    const bomb = zipOf([{ name: 'header.json', method: 8, data: deflateRawSync(Buffer.alloc(80 * 1024 * 1024)) }]);
    expect(faultOf(() => importInspect(bomb))).toBe('not_this_format');
    expect(faultOf(() => importInspect(zipOf([{ name: 'header.json', method: 12, data: Buffer.from(header) }])))).toBe(
      'not_this_format',
    );
  });

  // If two entries have the same name, or two archives are in one file, Python (and so Inspect) reads the last one.
  test('is rejected if it has two headers, or if two archives are in one file', () => {
    const headerWith = (accuracy: number) =>
      changedLog(({ results }) => {
        results.scores[0].metrics.accuracy.value = accuracy;
      });
    const entryOf = (accuracy: number, name = 'header.json') => ({ name, method: 0, data: Buffer.from(headerWith(accuracy)) });
    for (const name of ['header.json', 'header.json\0x'])
      expect(() => importInspect(zipOf([entryOf(1), entryOf(0.1, name)]))).toThrow(
        'the .eval archive has more than one header.json',
      );
    const [better, worse] = [zipOf([entryOf(1)]), zipOf([entryOf(0.1)])];
    for (const archive of [Buffer.concat([better, worse]), Buffer.concat([better, Buffer.from('more')])])
      expect(() => importInspect(archive)).toThrow('the .eval archive is damaged');
  });

  test('is rejected if the content does not match its checksum', () => {
    const archive = zipOf([{ name: 'header.json', method: 0, data: Buffer.from(header) }]);
    archive.write('9', archive.indexOf('"value":0.75') + '"value":0.'.length);
    expect(() => importInspect(archive)).toThrow('the .eval archive is damaged');
  });

  test('with ZIP64 records is read, and is rejected if their offset is wrong', () => {
    const archive = zipOf([{ name: 'header.json', method: 0, data: Buffer.from(header) }], { isZip64: true });
    expect(importInspect(archive)).toEqual(importInspect(log));
    const invalidArchive = zipOf([{ name: 'header.json', method: 0, data: Buffer.from(header) }], {
      isZip64: true,
      zip64Offset: 1,
    });
    expect(() => importInspect(invalidArchive)).toThrow('the .eval archive is damaged');
  });
});
