import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type ClockCorrection, correctionIn } from '../../src/domain/clock-correction.ts';
import { verifyExport } from '../../src/domain/export-verifier.ts';

const hashing = {
  digests: { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') },
  sha256: (bytes: Uint8Array) => new Uint8Array(createHash('sha256').update(bytes).digest()),
};
const BEFORE = '2046-01-01T00:00:00.000Z';
const AFTER = '2026-11-20T12:00:00.000Z';

const event = (seq: number, recorded_at: string) => ({
  version: 2,
  tenant_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  seq,
  id: `a1f0c3d2-000${seq}-4b6e-8d7a-2f4c6e8a0b1d`,
  recorded_at,
  recorded_by: 'operator',
  action: 'minted',
  key_id: `c4d5e6f7-1a2b-4c3d-8e4f-5a6b7c8d000${seq}`,
  kind: 'live',
  prefix: `4f9a02c7d1e${seq}`,
  name: 'ci',
  credential_sha256: 'ab'.repeat(32),
  scopes: [],
  expires_at: null,
});

async function* trail(): AsyncGenerator<Uint8Array> {
  const lines = [event(1, BEFORE), event(2, AFTER)].map((each) => `${JSON.stringify(each)}\n`);
  yield Buffer.from(lines.join(''));
}
const verifyTrail = (corrections: ClockCorrection[] | undefined) => verifyExport(trail(), hashing, { log: 'keys', corrections });

describe('export of a key audit trail whose times step back', () => {
  const step = { size: 1, before: BEFORE, after: AFTER };

  test('is valid when the audit ledger allows the step or was not supplied', async () => {
    expect((await verifyTrail([{ keys: step }])).firstBad).toBeUndefined();
    expect((await verifyTrail(undefined)).firstBad).toBeUndefined();
  });

  test.each<[string, ClockCorrection[]]>([
    ['no step', []],
    ['only a step of another log', [{ decisions: step, audit: step }]],
    ['only a step at another size', [{ keys: { ...step, size: 2 } }]],
    ['only a step from another time', [{ keys: { ...step, before: '2045-01-01T00:00:00.000Z' } }]],
    ['only a step to a later time', [{ keys: { ...step, after: '2026-11-20T12:00:00.001Z' } }]],
  ])('is invalid when the audit ledger allows %s', async (_, corrections) => {
    expect((await verifyTrail(corrections)).firstBad).toEqual({
      seq: 2,
      reason: expect.stringMatching(/no entry clock\.corrected of the audit ledger allows that/),
    });
  });
});

describe('entry clock.corrected', () => {
  const entry = {
    action: 'clock.corrected',
    recorded_by: 'operator',
    metadata: { logs: { keys: { size: 1, before: BEFORE, after: AFTER } } },
  };

  test('is read only if the operator recorded it and its sizes and times are well formed', () => {
    expect(correctionIn(entry)).toEqual(entry.metadata.logs);
    expect(correctionIn({ ...entry, recorded_by: 'key:0123456789ab' })).toBeUndefined();
    expect(correctionIn({ ...entry, recorded_by: 'system:promotion-gate' })).toBeUndefined();
    expect(correctionIn({ ...entry, action: 'clock.corrected ' })).toBeUndefined();
    for (const metadata of [null, [], {}, { logs: null }]) expect(correctionIn({ ...entry, metadata })).toBeUndefined();
    const step = entry.metadata.logs.keys;
    const malformed: unknown[] = [
      ...[null, [], {}],
      ...['1', true, null, -1, 0, 0.5, 2 ** 53].map((size) => ({ ...step, size })),
      ...['x', 1, '2046-01-01T00:00:00Z'].flatMap((at) => [
        { ...step, before: at },
        { ...step, after: at },
      ]),
    ];
    for (const keys of malformed) expect([keys, correctionIn({ ...entry, metadata: { logs: { keys } } })]).toEqual([keys, {}]);
  });
});
