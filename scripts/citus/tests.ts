/** Tests of the server that do not run on Citus: all files that match a pattern, or all tests whose names contain a text. */
export interface SkippedTest {
  /** A glob pattern. */
  readonly files?: string;
  /** The text that the names contain. */
  readonly test?: string;
  readonly reason: string;
}

const ONE_POSTGRES = 'starts its own PostgreSQL or the embedded one';

/** The skipped tests, each with the reason. */
export const SKIPPED_ON_CITUS: readonly SkippedTest[] = [
  { files: 'packages/server/test/app/{bad-start,crash,database-away,demo,first-start,mixed-load}.test.ts', reason: ONE_POSTGRES },
  { files: 'packages/server/test/app/{readiness,rejections-in-the-log,shutdown}.test.ts', reason: ONE_POSTGRES },
  {
    files: 'packages/server/test/backup/**',
    reason: 'the backup command refuses distributed tables; each node of Citus is backed up separately',
  },
  { files: 'packages/server/test/database/full-disk.test.ts', reason: ONE_POSTGRES },
  { files: 'packages/server/test/database/clock-*.test.ts', reason: 'replaces the clock of one PostgreSQL' },
  { files: 'packages/server/test/database/connection-settings.test.ts', reason: 'Citus needs other settings of the planner' },
  {
    files: 'packages/server/test/database/{database-rules,isolation}.test.ts',
    reason:
      'sets the tenant for a session, but this setting does not reach the workers; test/citus/isolation.citus.ts is the counterpart',
  },
  {
    files: 'packages/server/test/database/distributed-tables.test.ts',
    reason: 'needs a database without Citus; test/citus/migrate.citus.ts is the counterpart',
  },
  { files: 'packages/server/test/database/fair-reads.test.ts', reason: 'holds locks on tables of one PostgreSQL' },
  {
    files: 'packages/server/test/database/schema.test.ts',
    reason: 'lists the objects of one PostgreSQL; test/citus/migrate.citus.ts compares those of Citus',
  },
  {
    files: 'packages/server/test/portal/plans.test.ts',
    reason: 'reads plans of one PostgreSQL; test/citus/statements.citus.ts is the counterpart',
  },
  {
    files: 'packages/server/test/attacks/deleted-tenant.test.ts',
    reason: 'deletes a row against a foreign key, which Citus prevents, and runs `backup`, which refuses distributed tables',
  },
  {
    test: 'the function that formats times with milliseconds returns another format',
    reason: 'replaces a function of one PostgreSQL',
  },
  ...['evaluations', 'evidence_events'].map((table) => ({
    test: `INSERT ${table}`,
    reason: 'the coordinator runs this INSERT and does not count its rows (docs/threat-model.md, note 29)',
  })),
  {
    test: 'an act in the portal gets 503, and a command names the cause and exits with 9',
    reason: 'the coordinator runs these acts and does not count their rows (docs/threat-model.md, note 29)',
  },
  { test: 'is refused while the clocks disagree and writes nothing', reason: 'replaces the clock of one PostgreSQL' },
  {
    test: 'the gap in seq, and tenant_id in the hashed text, reveal a row moved to another tenant',
    reason: 'Citus refuses to change the tenant of a row',
  },
  {
    test: 'the server reads only a part of a long trace for a page of steps, one step or the models of an agent',
    reason: 'reads plans of one PostgreSQL; test/citus/statements.citus.ts is the counterpart',
  },
  {
    test: 'an exception and its run are joined when they are written concurrently',
    reason: 'holds a lock on the coordinator and waits for statements of one PostgreSQL',
  },
  {
    test: 'queries read nothing of another workspace, even without their tenant filter',
    reason: 'removes the tenant filter, but Citus cannot plan such statements; test/citus/isolation.citus.ts is the counterpart',
  },
  {
    test: 'without row-level security, queries without their tenant filter read rows',
    reason: 'shows only that the test above, which is skipped, can fail',
  },
  { test: 'a submission to a long trace reads less than twice as many buffers', reason: 'counts the buffers of one PostgreSQL' },
];

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const files = SKIPPED_ON_CITUS.flatMap((each) => each.files ?? []);
const tests = SKIPPED_ON_CITUS.flatMap((each) => (each.test === undefined ? [] : escapeRegExp(each.test)));

/** What runs on Citus: the suite of the server without the skipped tests, and the tests that run only on Citus. */
export const CITUS_TESTS = {
  include: ['packages/server/test/**/*.test.ts', 'packages/server/test/citus/*.citus.ts'],
  exclude: ['**/node_modules/**', ...files],
  testNamePattern: new RegExp(`^(?!.*(?:${tests.join('|')}))`),
};
