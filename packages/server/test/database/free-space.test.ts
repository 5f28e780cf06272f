import { PORTAL_ROUTES } from '@countersign/core/portal/routes';
import { expect, test } from 'vitest';
import { defaultFloor, FreeSpace, type Space } from '../../src/database/free-space.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/**
 * Watches a disk of 1000 bytes with a floor of 100 bytes. `readWith` sets the free bytes of the disk, reads them, and returns whether free
 * space is low. With `undefined`, reading the disk fails.
 */
function watchDisk() {
  const changes: boolean[] = [];
  const disk: { space: Space | undefined } = { space: { free: 500, total: 1000 } };
  const space = new FreeSpace({
    probe: async () => {
      if (disk.space === undefined) throw new Error('EIO');
      return disk.space;
    },
    floorOf: (total) => total / 10,
    onChange: ({ isLow }) => changes.push(isLow),
  });
  const readWith = async (free: number | undefined) => {
    disk.space = free === undefined ? undefined : { free, total: 1000 };
    await space.read();
    return space.isLow;
  };
  return { space, changes, readWith };
}

test('FreeSpace rejects requests below the floor, accepts them again at 125 % of the floor, and reports each change once', async () => {
  const { space, changes, readWith } = watchDisk();
  expect(await readWith(100)).toBe(false);
  expect(() => space.requireSpace()).not.toThrow();
  expect(await readWith(99)).toBe(true);
  expect(() => space.requireSpace()).toThrow(expect.objectContaining({ code: 'unavailable', headers: { 'Retry-After': '10' } }));
  expect(await readWith(124)).toBe(true);
  expect(await readWith(undefined)).toBe(true);
  expect(await readWith(125)).toBe(false);
  expect(await readWith(101)).toBe(false);
  expect(changes).toEqual([true, false]);
});

test('the default floor is the space for the write-ahead log and the request bodies, but at most a fifth of the disk', () => {
  expect(defaultFloor(400 * MIB, 192 * MIB)).toBe(80 * MIB);
  expect(defaultFloor(16 * GIB, 192 * MIB)).toBe(GIB + 192 * MIB);
  expect(defaultFloor(1000 * GIB, 192 * MIB)).toBe(2 * GIB + 192 * MIB);
});

test('below the floor, the portal allows only acts that can remove rights, replace keys or passwords, block agents, sign in or out', () => {
  const usingReserve = Object.entries(PORTAL_ROUTES).filter(([, route]) => 'usesReserve' in route);
  expect(usingReserve.map(([name]) => name).sort()).toEqual([
    ...['account.change_password', 'approvals.reject', 'approvals.withdraw', 'decision_keys.retire', 'decision_keys.rotate'],
    ...['incidents.open', 'invitations.withdraw', 'keys.change_scopes', 'keys.revoke', 'keys.rotate'],
    ...['links.reset_password', 'links.show', 'links.sign_in', 'members.change_role', 'members.leave', 'members.remove'],
    ...['members.reset_password', 'session.sign_in', 'session.sign_out', 'sessions.end'],
  ]);
});
