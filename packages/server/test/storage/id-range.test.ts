import { expect, test } from 'vitest';
import { HIGHEST_ID, idAfter, LOWEST_ID } from '../../src/storage/id-range.ts';

test.each([
  [LOWEST_ID, '00000000-0000-0000-0000-000000000001'],
  ['01a214b8-c3a6-7367-983c-7015557eb7d2', '01a214b8-c3a6-7367-983c-7015557eb7d3'],
  ['01a214b8-c3a6-7367-ffff-ffffffffffff', '01a214b8-c3a6-7368-0000-000000000000'],
  ['ffffffff-ffff-ffff-ffff-fffffffffffe', HIGHEST_ID],
  [HIGHEST_ID, undefined],
])('the ID after %s is %s', (id, next) => {
  expect(idAfter(id)).toBe(next);
});
