import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiPage } from '../scripts/api-docs.ts';
import { contractSource } from '../scripts/contract.ts';

test('docs/client-api.md is what the docstrings say, and every export has one: `npm run docs:client`', () => {
  expect(readFileSync(new URL('../../../docs/client-api.md', import.meta.url), 'utf8')).toBe(apiPage());
});

test('src/wire/contract.ts is what the schemas say: `node packages/client/scripts/contract.ts`', () => {
  expect(readFileSync(new URL('../src/wire/contract.ts', import.meta.url), 'utf8')).toBe(contractSource());
});
