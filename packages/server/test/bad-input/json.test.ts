import { expect, test } from 'vitest';
import { paths } from '../harness/test-server.ts';
import { BROKEN, DEEP, LOSSY, PROTOTYPES, TRAPS } from './json.ts';
import { refuses, worldOfRefusals } from './refusals.ts';

const world = worldOfRefusals();

refuses('what is not JSON is invalid_json', world, BROKEN);
refuses('what is nested too deeply is refused, however deep', world, DEEP);
refuses('where nothing may be lost, what JSON readers lose is refused', world, LOSSY);
refuses('numbers beyond what JSON holds are refused where they count', world, TRAPS);
refuses('members named like those of every object are data', world, PROTOTYPES);

test('the message of broken JSON says where, and repeats nothing of the body', async () => {
  const { body } = await world.server.post(paths.audit, world.key, '{"actor":"secret-token-1234" oops}');
  expect(body.issues[0].message).toMatch(/character \d+/);
  expect(JSON.stringify(body)).not.toMatch(/secret|oops/);
});

test('a body that is cut off is said to be, wherever; one that is broken before its end is not', async () => {
  const reason = async (text: string) => {
    const { body } = await world.server.post(paths.audit, world.key, text);
    return body.issues[0].message;
  };
  const whole = '{"actor":"a\\u0041","action":"b","metadata":{"a":[true,-1.5e3,{}]}}';
  for (let length = 1; length < whole.length; length += 1)
    expect([length, await reason(whole.slice(0, length))]).toEqual([length, 'the body is not JSON: it is cut off']);
  for (const broken of ['{"actor":"a"}}', '{"actor":"a";', '{,', 'x']) expect(await reason(broken)).not.toContain('cut off');
});

test('as deep as may be is accepted', async () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const audit = await world.server.post(paths.audit, world.key, `{"actor":"a","action":"b","metadata":{"a":${nested(98)}}}`);
  const trace = await world.server.post(paths.traces, world.key, `{"trace_id":"deep","metadata":{"a":${nested(998)}}}`);
  expect([audit.status, trace.status]).toEqual([200, 200]);
});

test('nothing that was sent here has changed what every object has', () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { subject?: unknown }).subject).toBeUndefined();
});
