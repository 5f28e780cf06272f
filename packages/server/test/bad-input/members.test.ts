import { expect, test } from 'vitest';
import { PLACES, wrongMembers } from './members.ts';
import { refuses, worldOfRefusals } from './refusals.ts';

const world = worldOfRefusals();

for (const place of PLACES) {
  refuses(`a wrong member of a ${place.name} is named and nothing is stored`, world, wrongMembers(place));

  test(`${place.name}: null in an optional member is the same as leaving it out`, async () => {
    const optional = Object.entries(place.members).filter(([, kind]) => !kind.endsWith('!'));
    const nulls: Record<string, unknown> = Object.fromEntries(optional.map(([member]) => [member, null]));
    if (place.name === 'promotion check') nulls.agent_name = 'support-bot';
    const { status, body } = await world.server.post(place.path, world.key, place.body(nulls));
    expect([status, body.error]).toEqual([200, undefined]);
  });
}

test('the table is as long as it is meant to be', () => {
  expect(PLACES.flatMap(wrongMembers).length).toBeGreaterThan(350);
});
