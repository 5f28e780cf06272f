import { operations } from '@countersign/core/contract/operations';
import { beforeEach, expect, test, vi } from 'vitest';

beforeEach(() => vi.resetModules());

const schemas = Object.values(operations).flatMap((operation) => operation.bodies);

test.each([
  ['the order of the contract', schemas],
  ['the reverse order', schemas.toReversed()],
])('the schemas of all bodies compile in %s', async (_, ordered) => {
  const { findIssues } = await import('../../src/http/validate-body.ts');
  for (const schema of ordered) expect(findIssues(schema, 7)).toHaveLength(1);
});
