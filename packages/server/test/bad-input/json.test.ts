import { expect, test } from 'vitest';
import { paths } from '../harness/test-server.ts';
import { DEEP_BODIES, JSON_CHANGED_BY_PARSERS, MISREAD_VALUES, NON_JSON_BODIES, PROTOTYPE_MEMBERS } from './json.ts';
import { setUpRejections, testRejections } from './rejections.ts';

const target = setUpRejections();

testRejections('responds with invalid_json to text that is not JSON', target, NON_JSON_BODIES);
testRejections('rejects bodies that are nested too deeply', target, DEEP_BODIES);
testRejections(
  'rejects JSON that parsers would change silently, in audit entries, evaluations and promotion checks',
  target,
  JSON_CHANGED_BY_PARSERS,
);
testRejections('rejects numbers out of range, and a duplicate member whose last value is wrong', target, MISREAD_VALUES);
testRejections('treats members with names such as __proto__ and constructor only as data', target, PROTOTYPE_MEMBERS);

test('the message for broken JSON gives the position and repeats nothing of the body', async () => {
  const { body } = await target.server.post(paths.audit, target.key, '{"actor":"secret-token-1234" oops}');
  expect(body.issues[0].message).toMatch(/character \d+/);
  expect(JSON.stringify(body)).not.toMatch(/secret|oops/);
});

test('a truncated body of any length is reported as cut off, and other broken JSON is not', async () => {
  const reason = async (text: string) => {
    const { body } = await target.server.post(paths.audit, target.key, text);
    return body.issues[0].message;
  };
  const whole = '{"actor":"a\\u0041","action":"b","metadata":{"a":[true,-1.5e3,{}]}}';
  for (let length = 1; length < whole.length; length += 1)
    expect([length, await reason(whole.slice(0, length))]).toEqual([length, 'the body is not JSON: it is cut off']);
  for (const broken of ['{"actor":"a"}}', '{"actor":"a";', '{,', 'x']) expect(await reason(broken)).not.toContain('cut off');
});

test('the server accepts the deepest allowed nesting', async () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const audit = await target.server.post(paths.audit, target.key, `{"actor":"a","action":"b","metadata":{"a":${nested(98)}}}`);
  const trace = await target.server.post(paths.traces, target.key, `{"trace_id":"deep","metadata":{"a":${nested(998)}}}`);
  expect([audit.status, trace.status]).toEqual([200, 200]);
});

test('the requests of this file leave Object.prototype unchanged', () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { subject?: unknown }).subject).toBeUndefined();
});
