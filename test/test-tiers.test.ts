import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CITUS_TESTS, SKIPPED_ON_CITUS, type SkippedTest } from '../scripts/citus/tests.ts';
import { filesOf, TEST_TIERS } from '../scripts/test-tiers.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** The files outside `src` that a test file loads by relative imports, including itself. */
function loadedTestFiles(file: string, visited = new Set<string>()): Set<string> {
  if (visited.has(file)) return visited;
  visited.add(file);
  for (const [, target] of readFileSync(join(root, file), 'utf8').matchAll(/\bfrom '(\.[^']+)'/g)) {
    const path = join(dirname(file), target!);
    if (!path.includes('/src/') && path.endsWith('.ts')) loadedTestFiles(path, visited);
  }
  return visited;
}

describe('test tiers', () => {
  test('contain every test file exactly once', () => {
    const all = globSync(['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root });
    expect(TEST_TIERS.flatMap((tier) => filesOf(tier, root)).sort()).toEqual(all.sort());
  });

  test.each(TEST_TIERS)('$name has only patterns that match files', ({ include }) => {
    expect(include.filter((pattern) => globSync(pattern, { cwd: root }).length === 0)).toEqual([]);
  });

  test('unit tests load no harness that connects to a database', () => {
    const needsDatabase = filesOf(TEST_TIERS[0]!, root).filter((file) =>
      [...loadedTestFiles(file)].some((loaded) =>
        /\binject\('cluster'\)|acquireEmbeddedDatabase\(/.test(readFileSync(join(root, loaded), 'utf8')),
      ),
    );
    expect(needsDatabase).toEqual([]);
  });
});

describe('tests skipped on Citus', () => {
  const suite = globSync([...CITUS_TESTS.include], { cwd: root })
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');

  test('are found by their patterns and names', () => {
    const isFound = ({ files, test: name = '' }: SkippedTest) =>
      suite.includes(name) && (files === undefined || globSync(files, { cwd: root }).length > 0);
    expect(SKIPPED_ON_CITUS.filter((each) => !isFound(each))).toEqual([]);
  });
});
