import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['packages/server/test/bed/global-setup.ts'],
    // One more than the cores of a small machine: a third of the time goes into waiting for processes to end and clocks to go on.
    maxWorkers: 3,
    // Bounds for what hangs, not for what is slow: a machine that is busy with something else takes several times as long.
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
