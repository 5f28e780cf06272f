import { operations } from '@countersign/core/contract/operations';
import { expect, test } from 'vitest';
import { PLACES, wrongMembers } from './members.ts';
import { setUpRejections, testRejections } from './rejections.ts';

const target = setUpRejections();

for (const place of PLACES) {
  testRejections(`reports a wrong member and stores nothing (${place.name})`, target, wrongMembers(place));

  test(`${place.name}: null is accepted in all optional members at once`, async () => {
    const optional = Object.entries(place.members).filter(([, kind]) => !kind.endsWith('!'));
    const nulls: Record<string, unknown> = Object.fromEntries(optional.map(([member]) => [member, null]));
    // A promotion check must name its agent, so its agent_name is not null here.
    if (place.name === 'promotion check') nulls.agent_name = 'support-bot';
    const { status, body } = await target.server.post(place.path, target.key, place.body(nulls));
    expect([status, body.error]).toEqual([200, undefined]);
  });
}

test('the table covers more than 350 wrong values', () => {
  expect(PLACES.flatMap(wrongMembers).length).toBeGreaterThan(350);
});

test('the table has every member of every body, except input and output of telemetry, which take any value', () => {
  const missing = Object.values(operations).flatMap(({ path, bodies: [schema] }) => {
    const place = PLACES.find((each) => each.path === path && each.prefix === '')!;
    const names = Object.keys((schema as unknown as { properties: object }).properties);
    return names.filter((name) => !(name in place.members)).map((name) => `${place.name}: ${name}`);
  });
  expect(missing).toEqual(['telemetry event: input', 'telemetry event: output']);
});
