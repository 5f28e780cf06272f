import { parseLine } from '@countersign/core/domain/export-line';
import { expect, test } from 'vitest';
import { vectors } from '../../core/test/vectors.ts';
import { verifyChain } from '../src/proof/verify-chain.ts';

const { tenant_id: tenantId, logs, jwks } = vectors('checkpoints');
const entries: string[] = vectors('audit-chain').entries.map(({ line }: { line: string }) => line);
const checkpointsOf = (log: string): string[] => logs.find((each: { log: string }) => each.log === log).checkpoints;

async function* noLines(): AsyncGenerator<string> {}

/** Verifies the first entries of the vectors against a checkpoint. */
const verifyFirst = async (count: number, checkpoint: string) => {
  const lines = async function* () {
    yield* entries.slice(0, count);
  };
  const expected = { tenantId, entryCount: count, checkpoint, keys: JSON.stringify(jwks) };
  return verifyChain(lines(), expected, () => undefined);
};

test('a ledger is valid with a checkpoint of the same or a smaller size, and not with a larger checkpoint', async () => {
  const checkpoints = checkpointsOf('audit');
  expect([entries.length, checkpoints.length]).toEqual([6, 7]);
  for (const [size, checkpoint] of checkpoints.entries()) {
    for (let count = 0; count <= entries.length; count += 1) {
      const result = await verifyFirst(count, checkpoint);
      const sizeText = size === 1 ? '1 entry' : `${size} entries`;
      const reason = `the signed checkpoint covers ${sizeText} but the ledger ends after entry ${count}`;
      expect([size, result]).toMatchObject([
        size,
        count >= size ? { kind: 'valid', checkedCount: count } : { kind: 'invalid', checkedCount: count, seq: null, reason },
      ]);
    }
  }
});

test('a ledger whose tree differs from the tree of the checkpoint is reported as rewritten', async () => {
  expect(await verifyFirst(6, checkpointsOf('decisions')[2]!)).toEqual({
    kind: 'invalid',
    checkedCount: 2,
    seq: null,
    reason: 'the tree of the first 2 rows differs from the signed checkpoint, so rows were rewritten',
  });
});

test('a checkpoint of another log is rejected, even if both logs have the same tree', async () => {
  expect(await verifyFirst(6, checkpointsOf('decisions')[0]!)).toMatchObject({
    kind: 'invalid',
    reason: 'the checkpoint belongs to a different log',
  });
});

test('verifyChain rejects a line for the same reason as parseLine', async () => {
  const [first] = entries;
  const nested = first!.replace(/}$/, `,"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
  const repeated = first!.replace(/}$/, ',"actor":"mallory"}');
  for (const line of [nested, repeated, '', '{']) {
    const expected = { tenantId, entryCount: 1, checkpoint: checkpointsOf('audit')[1]!, keys: JSON.stringify(jwks) };
    const lines = async function* () {
      yield line;
    };
    const parsed = parseLine(line);
    const reason = 'fault' in parsed ? parsed.fault : undefined;
    expect(reason).toMatch(/^(the line is (nested deeper than 200$|empty$|not JSON: )|"actor" is given twice)/);
    expect(await verifyChain(lines(), expected, () => undefined)).toEqual({ kind: 'invalid', checkedCount: 0, seq: 1, reason });
  }
});

test.each([
  ['1 entry', 1],
  ['3 entries', 3],
])('an empty ledger that should have %s is not valid, but no entry is reported as altered', async (sizeText, entryCount) => {
  const expected = { tenantId, entryCount, checkpoint: '', keys: '{"keys":[]}' };
  expect(await verifyChain(noLines(), expected, () => undefined)).toEqual({
    kind: 'invalid',
    checkedCount: 0,
    seq: null,
    reason: `the ledger should have ${sizeText} but ends after entry 0`,
  });
});
