import { globSync } from 'node:fs';

/** A group of test files with the same requirements. One tier can be run alone: `npm test -- --tier unit`. */
export interface TestTier {
  readonly name: 'unit' | 'browser' | 'package' | 'process' | 'server';
  /** What its tests need. */
  readonly needs: string;
  /** Whether each file runs in a process of its own. Otherwise files share processes, and with them the loaded modules. */
  readonly isIsolated: boolean;
  /** Glob patterns of its files. A file belongs to the first tier that matches it. */
  readonly include: readonly string[];
}

const ALL_TESTS = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'];

/** The tiers, in the order of matching. The last one contains every remaining file, so no test file is left out. */
export const TEST_TIERS: readonly TestTier[] = [
  {
    name: 'unit',
    needs: 'neither a database nor another process',
    isIsolated: false,
    include: [
      'packages/core/test/**/*.test.ts',
      'packages/client/test/{client-options,cli/{plain-text,wrong-use},http/failures,tracing/tracing-outage,wire/contract}.test.ts',
      'packages/client/test/importers/*.test.ts',
      'packages/embedded-database/test/restart-policy.test.ts',
      'packages/portal/test/{bundle,check-decision,number-format,pass-rate-series,problem,span-tree,verify-chain}.test.ts',
      'packages/server/test/database/{batch-writer,clock-suspended,free-space,head-seals,row-seals,separate-statements}.test.ts',
      'packages/server/test/{documents/segment-layout,ledger/{log-fold,service-actions},people/personal-data,secrets/secret-files}.test.ts',
      'packages/server/test/{app/welcome,backup/backup-writer}.test.ts',
      'test/{import-table,test-tiers}.test.ts',
    ],
  },
  {
    name: 'browser',
    needs: 'Chromium, a server and its database',
    isIsolated: false,
    include: ['packages/portal/test/**/*.test.ts'],
  },
  {
    name: 'package',
    needs: 'a packed or freshly copied installation, a program of another language, or a process for each test file',
    isIsolated: true,
    include: [
      'packages/client/test/{api-docs,memory,cli/files,telemetry/listeners}.test.ts',
      'packages/server/test/app/first-start.test.ts',
      'packages/server/test/portal/sign-in.test.ts',
      'test/{packed-*,readme*,independent-verifier}.test.ts',
    ],
  },
  {
    name: 'process',
    needs: 'processes that are started, killed or waited for',
    isIsolated: false,
    include: [
      'packages/embedded-database/test/**/*.test.ts',
      'packages/client/test/{cli/gate-rotation,http/network,telemetry/telemetry-failures}.test.ts',
      'packages/server/test/app/{bad-start,crash,database-away,demo,memory,readiness,rejections-in-the-log,shutdown}.test.ts',
      'packages/server/test/{backup/{backup-file,backup-restore,restored-state},upgrade/upgrade}.test.ts',
      'packages/server/test/cli/{command-process,correct-clock,set-up-link}.test.ts',
      'packages/server/test/database/{clock-process,full-disk}.test.ts',
      'packages/server/test/http/{half-closed,metrics-access,unread-responses}.test.ts',
      'packages/server/test/secrets/key-rotation.test.ts',
      'test/{attack,command-in-checkout,faults,setup}.test.ts',
    ],
  },
  {
    name: 'server',
    needs: 'a server in the process of the test, and its database',
    isIsolated: false,
    include: ALL_TESTS,
  },
];

/** The include and exclude patterns of a tier: a file that an earlier tier matches is excluded. */
export function patternsOf(tier: TestTier): { include: string[]; exclude: string[] } {
  const earlier = TEST_TIERS.slice(0, TEST_TIERS.indexOf(tier));
  return { include: [...tier.include], exclude: ['**/node_modules/**', ...earlier.flatMap(({ include }) => include)] };
}

/** The test files of a tier, relative to the root of the repository. */
export function filesOf(tier: TestTier, root: string): string[] {
  const { include, exclude } = patternsOf(tier);
  return globSync(include, { cwd: root, exclude }).sort();
}
