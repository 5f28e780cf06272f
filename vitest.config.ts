import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { patternsOf, TEST_TIERS } from './scripts/test-tiers.ts';

// Tests start hundreds of Node processes. Each takes half the time to start if its modules are in the compile cache.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

/** The files that take longest. They start first: if one of them started last, the other workers would idle. */
const LONGEST = [
  'test/faults',
  'server/test/database/full-disk',
  'portal/test/accessibility',
  'server/test/app/database-away',
  'server/test/app/shutdown',
  'server/test/app/crash',
  'portal/test/hostile-texts',
  'test/independent-verifier',
  'server/test/app/first-start',
  'server/test/portal/plans',
  'server/test/app/memory',
  'server/test/app/demo',
];

class LongestFirst extends BaseSequencer {
  /** The longest files first, then the others by tier in reverse order: files of one tier that follow each other can share a process. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    const tierIndexOf = ({ project }: TestSpecification) => TEST_TIERS.findIndex(({ name }) => name === project.name);
    const [longest, others] = [files.filter((file) => rankOf(file) >= 0), files.filter((file) => rankOf(file) < 0)];
    const sorted = await super.sort(others);
    return [
      ...longest.sort((left, right) => rankOf(left) - rankOf(right)),
      ...sorted.sort((left, right) => tierIndexOf(right) - tierIndexOf(left)),
    ];
  }
}

/** The settings of every tier. */
const shared = {
  setupFiles: ['packages/server/test/harness/each-file.ts'],
  // Timeouts for tests that hang, not for slow ones: a busy machine takes several times as long.
  testTimeout: 240_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 15_000 } },
};

export default defineConfig({
  test: {
    // One database cluster for all tiers of a run.
    globalSetup: ['packages/server/test/harness/global-setup.ts'],
    // Two more than there are cores, at most four. Many tests wait: with three workers on two cores, the whole suite took 427 s and used
    // 85 % of the cores. With four workers it took 403 s and used 93 %.
    maxWorkers: Math.min(4, availableParallelism() + 2),
    // A larger young generation needs fewer collections: about 4 % less processor time.
    execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
    sequence: { sequencer: LongestFirst },
    projects: TEST_TIERS.map((tier) => ({ test: { ...shared, ...patternsOf(tier), name: tier.name, isolate: tier.isIsolated } })),
  },
});
