import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Tests start hundreds of processes of ours: each takes half the time when it finds its modules compiled (Node's module.enableCompileCache).
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['packages/server/test/bed/global-setup.ts'],
    // Two cores: more files at once only wait for each other.
    maxWorkers: 2,
    // Bounds for what hangs, not for what is slow: a machine that is busy with something else takes several times as long.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
