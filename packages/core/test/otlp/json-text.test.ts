import { describe, expect, test } from 'vitest';
import { fromJson, JSON_TEXT_VALUES_MAX, withParseLimit } from '../../src/otlp/conventions/json-text.ts';
import { mapTraces } from '../../src/otlp/map-traces.ts';
import { record } from './span-records.ts';

/** A list as JSON text, with this number of values, including the list itself. */
const listText = (values: number): string => `[${'1,'.repeat(values - 2)}1]`;

describe('JSON text in attributes', () => {
  test('with more values than the limit stays text', () => {
    const textAtLimit = listText(JSON_TEXT_VALUES_MAX);
    const textAboveLimit = listText(JSON_TEXT_VALUES_MAX + 10);
    expect(withParseLimit(() => fromJson(textAtLimit))).toHaveLength(JSON_TEXT_VALUES_MAX - 1);
    expect(withParseLimit(() => fromJson(textAboveLimit))).toBe(textAboveLimit);
    expect(fromJson(textAboveLimit)).toBe(textAboveLimit);
  });

  test('shares one limit of values with the other JSON texts of the export', () => {
    const text = listText(JSON_TEXT_VALUES_MAX / 2);
    const spans = Array.from({ length: 10 }, (_, index) => record({ 'input.value': text }, { spanId: String(index) }));
    const [mapped] = mapTraces(spans);
    const inputs = mapped!.trace.spans.map(({ input }) => typeof input);
    expect(inputs).toContain('object');
    expect(inputs.filter((type) => type === 'string').length).toBeGreaterThanOrEqual(6);
    expect(mapTraces(spans.slice(0, 1))[0]!.trace.spans[0]!.input).toHaveLength(JSON_TEXT_VALUES_MAX / 2 - 1);
  });

  test('is parsed if it has few values, whatever its size', () => {
    const texts = Array.from({ length: 20 }, (_, index) => JSON.stringify({ text: `[{,"\\${'[,'.repeat(500_000)}`, index }));
    const parsed = withParseLimit(() => texts.map(fromJson));
    expect(parsed.map((each) => (each as { index: number }).index)).toEqual(texts.map((_, index) => index));
  });

  test('that is incomplete stays text, even if it is large', () => {
    const text = `["${'a'.repeat(3_000_000)}\\`;
    expect(fromJson(text)).toBe(text);
  });
});
