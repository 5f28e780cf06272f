import { describe, expect, test } from 'vitest';
import { openCheckpoint } from '../../src/domain/checkpoint.ts';
import { type ExportExpectation, verifyExport } from '../../src/domain/export-verifier.ts';
import type { KeyEvent } from '../../src/domain/key-event.ts';
import { parseNoteVerifierKey } from '../../src/domain/signed-note.ts';
import { digests, sha256, verifyEd25519 } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

/** Vectors of the independent implementation, which was written from docs/formats.md only. */
const golden = vectors('checkpoints');
const events: KeyEvent[] = golden.key_events.map(({ event }: { event: KeyEvent }) => event);
const { leaf_data: leaves, checkpoints } = golden.logs.find(({ log }: { log: string }) => log === 'keys');
const first = parseNoteVerifierKey(golden.keys[0].note_key, sha256)!;

const verify = (rows: readonly unknown[], expectation: ExportExpectation = {}) => {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  return verifyExport(bytes, { digests, sha256 }, { log: 'keys', ...expectation });
};
const keptHeadAt = (size: number) => {
  const opened = openCheckpoint(checkpoints[size], [first], verifyEd25519, sha256);
  if ('fault' in opened) throw new Error(opened.fault);
  return { source: 'kept', ...opened.head };
};

describe('export of the key audit trail', () => {
  test('is valid, names its tenant and agrees with its checkpoints', async () => {
    const keptHeads = events.map((_, index) => keptHeadAt(index + 1));
    const report = await verify(events, { keptHeads });
    expect(report).toEqual({
      tenantId: golden.tenant_id,
      entries: 3,
      head: leaves[2],
      firstBad: undefined,
      contradiction: undefined,
    });
  });

  test('contradicts a kept head when an event was altered or the tail was cut off', async () => {
    const altered = events.with(1, { ...events[1]!, name: 'another name' });
    expect(await verify(altered)).toMatchObject({ entries: 3, firstBad: undefined, contradiction: undefined });
    for (const rows of [altered, events.slice(0, 2)]) {
      const { firstBad, contradiction } = await verify(rows, { keptHeads: [keptHeadAt(3)] });
      expect([firstBad, contradiction?.source]).toEqual([undefined, 'kept']);
    }
  });

  const { scopes: _, ...withoutScopes } = events[0]!;
  test.each<[string, unknown[], RegExp]>([
    ['a gap', [events[0], events[2]], /^seq is 3, expected 2/],
    ['a repeated event', [events[0], events[0]], /^seq is 1, expected 2/],
    ['an additional member', [{ ...events[0], secret: 'x' }], /"secret" is not a member/],
    ['a missing member', [withoutScopes], /scopes is missing/],
    [
      'an instant without milliseconds',
      [{ ...events[0], recorded_at: '2026-11-20T09:31:00Z' }],
      /recorded_at of the key event is malformed/,
    ],
    ['malformed scopes', [{ ...events[0], scopes: [1] }], /scopes of the key event is malformed/],
    ['another version', [{ ...events[0], version: 1 }], /version 1 is not known/],
    ['a key minted twice', [events[0], { ...events[0], seq: 2 }], /minted contradicts the earlier events/],
    ['an unknown kind of key', [{ ...events[0], kind: 'admin' }], /kind of the key event is malformed/],
    ["another tenant's event", [events[0], { ...events[1], tenant_id: events[1]!.id }], /the event belongs to another tenant/],
    ['a lone surrogate', [{ ...events[0], name: '\ud800' }], /surrogate/],
    ['a line that is not an object', [[]], /not an object/],
  ])('with %s is invalid at the first wrong event', async (_what, rows, reason) => {
    const { firstBad } = await verify(rows);
    expect(firstBad).toMatchObject({ seq: rows.length, reason: expect.stringMatching(reason) });
  });

  test('is rejected when verified as another log, and exports of other logs are rejected when verified as a key audit trail', async () => {
    const misfit = (log: string) => ({ misfit: true, reason: expect.stringContaining(`give --log ${log}`) });
    expect((await verify(events, { log: 'audit' })).firstBad).toMatchObject(misfit('keys'));
    expect((await verify(events, { log: 'decisions' })).firstBad).toMatchObject(misfit('keys'));
    expect((await verify([{ seq: 1, row_hash: 'x' }])).firstBad).toMatchObject(misfit('audit'));
    expect((await verify([{ seq: 1, decision: {} }])).firstBad).toMatchObject(misfit('decisions'));
  });
});
