import { defineConfig } from 'vitest/config';
import { CITUS_TESTS } from './scripts/citus/tests.ts';

/** The server's tests on Citus: `npm run test:citus`. Each test file gets a copy of a distributed database. */
export default defineConfig({
  test: {
    globalSetup: ['packages/server/test/citus/global-setup.ts'],
    setupFiles: ['packages/server/test/harness/each-file.ts'],
    maxWorkers: 2,
    // Three PostgreSQL servers share the machine with the tests, and a transaction uses two of them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    ...CITUS_TESTS,
  },
});
