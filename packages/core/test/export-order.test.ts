import { expect, test } from 'vitest';
import { linkEntries, rowHashOf } from '../src/domain/audit-chain.ts';
import { verifyExport } from '../src/domain/export-verifier.ts';
import { digests, sha256 } from './node-digests.ts';

const [row] = linkEntries(
  { seq: 0, rowHash: null },
  [
    {
      tenant_id: '11111111-1111-4111-8111-111111111111',
      id: '22222222-2222-4222-8222-222222222222',
      recorded_at: '2026-11-21T08:00:00.000Z',
      recorded_by: 'key:000000000000',
      actor: 'ci',
      action: 'test',
      subject: null,
      rationale: null,
      framework: null,
      trace_id: null,
      agent_id: null,
      retention_until: null,
      metadata: { a: 1, b: 2 },
    },
  ],
  digests,
);

/** The same row with the members of its metadata in another order, and row_hash last, as an export has it. */
const unordered = row!.canonical.replace('{"a":1,"b":2}', '{"b":2,"a":1}');
const verdict = async (text: string, hash: string) => {
  const line = `${text.slice(0, -1)},"row_hash":"${hash}"}\n`;
  return verifyExport(
    (async function* () {
      yield Buffer.from(line);
    })(),
    { digests, sha256 },
  );
};

test('the order of members in a line does not count, and a hash over another order than the canonical one is none', async () => {
  expect(await verdict(row!.canonical, row!.rowHash)).toMatchObject({ entries: 1, firstBad: undefined });
  expect(await verdict(unordered, row!.rowHash)).toMatchObject({ entries: 1, firstBad: undefined });
  const { firstBad } = await verdict(unordered, rowHashOf(unordered, digests));
  expect(firstBad).toMatchObject({ seq: 1, reason: expect.stringContaining('the row was altered') });
});
