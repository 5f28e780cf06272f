import { operations } from '@countersign/core/contract/operations';
import { expect, test } from 'vitest';
import { listWrongMembers, POSITIONS } from './members.ts';
import { setUpRejections, testRejections } from './rejections.ts';

const target = setUpRejections();

for (const position of POSITIONS) {
  testRejections(`reports a wrong member and stores nothing (${position.name})`, target, listWrongMembers(position));

  test(`${position.name}: null is accepted in all optional members at once`, async () => {
    const optional = Object.entries(position.members).filter(([, kind]) => !kind.endsWith('!'));
    const nulls: Record<string, unknown> = Object.fromEntries(optional.map(([member]) => [member, null]));
    // A promotion check must name its agent, so its agent_name is not null here.
    if (position.name === 'promotion check') nulls.agent_name = 'support-bot';
    const { status, body } = await target.server.post(position.path, target.key, position.body(nulls));
    expect([status, body.error]).toEqual([200, undefined]);
  });
}

test('the table of positions covers more than 350 wrong values', () => {
  expect(POSITIONS.flatMap(listWrongMembers).length).toBeGreaterThan(350);
});

test('every member of a body is in the table of positions, except events of a batch, and input and output, which accept any value', () => {
  const missing = Object.values(operations).flatMap(({ path, bodies: [schema] }) => {
    const position = POSITIONS.find((each) => each.path === path && each.prefix === '')!;
    const names = Object.keys((schema as unknown as { properties: object }).properties);
    return names.filter((name) => !(name in position.members)).map((name) => `${position.name}: ${name}`);
  });
  expect(missing).toEqual(['telemetry event: input', 'telemetry event: output']);
});
