import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiPage } from '../scripts/api-docs.ts';
import { contractSource } from '../scripts/contract.ts';

test('docs/client-api.md matches the docstrings of all exports (update it with `npm run docs:client`)', () => {
  expect(readFileSync(new URL('../../../docs/client-api.md', import.meta.url), 'utf8')).toBe(apiPage());
});

test('src/wire/contract.ts matches the schemas (update it with `sh scripts/run.sh packages/client/scripts/contract.ts`)', () => {
  expect(readFileSync(new URL('../src/wire/contract.ts', import.meta.url), 'utf8')).toBe(contractSource());
});
