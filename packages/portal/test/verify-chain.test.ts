import { expect, test } from 'vitest';
import { verifyChain } from '../src/proof/verify-chain.ts';

async function* noLines(): AsyncGenerator<string> {}

test.each([
  ['1 entry', 1],
  ['3 entries', 3],
])('a ledger of %s that ends too early is invalid, and the result names no entry', async (shown, entries) => {
  const expected = { tenantId: '0198a1c2-0000-7000-8000-000000000001', entries, checkpoint: '', keys: '{"keys":[]}' };
  expect(await verifyChain(noLines(), expected, () => undefined)).toEqual({
    kind: 'invalid',
    checked: 0,
    seq: null,
    reason: `the ledger should have ${shown} but ends after entry 0`,
  });
});
