import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { VARIABLES } from '../packages/server/src/config/variables.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const chart = 'deploy/helm/countersign';
const versionFiles = ['packages/server/src/cli/version.ts', 'packages/client/src/version.ts'];
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const { version } = JSON.parse(textOf('packages/server/package.json')) as { version: string };

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Creates a folder with the scripts of a release, the version files that these scripts read, and this changelog. Returns its path. */
function createCheckout(name: string, changelog: string): string {
  const folder = join(scratch, name);
  const paths = ['scripts/release', chart, ...versionFiles, ...globSync('packages/*/package.json', { cwd: root })];
  for (const path of paths) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  return folder;
}

const run = (folder: string, script: string, argument: string): string =>
  execFileSync('sh', [join(folder, 'scripts/release', script), argument], { encoding: 'utf8', stdio: 'pipe' });

describe('release', () => {
  const changelog = `# Changelog\n\n## Unreleased\n\n- later\n\n## [${version}] - 2026-12-01\n\n- this\n\n## 0.0.1\n\n- earlier\n`;

  test('requires a tag equal to the version of all packages and the chart, and a changelog section', () => {
    const validCheckout = createCheckout('good', changelog);
    expect(run(validCheckout, 'check-version.sh', `v${version}`)).toBe('');
    expect(() => run(validCheckout, 'check-version.sh', 'v9.9.9')).toThrow(/the tag is 9\.9\.9/);
    const checkoutWithoutSection = createCheckout('without', '# Changelog\n\n## Unreleased\n');
    expect(() => run(checkoutWithoutSection, 'check-version.sh', `v${version}`)).toThrow(/CHANGELOG\.md has no version/);
    const otherCheckout = createCheckout('other', changelog);
    writeFileSync(
      join(otherCheckout, chart, 'Chart.yaml'),
      textOf(`${chart}/Chart.yaml`).replace(/^appVersion: .*$/m, 'appVersion: 0.0.1'),
    );
    expect(() => run(otherCheckout, 'check-version.sh', `v${version}`)).toThrow(/appVersion of the Helm chart is 0\.0\.1/);
  });

  test('rejects a program that shows another version', () => {
    for (const [index, file] of versionFiles.entries()) {
      const folder = createCheckout(`program ${index}`, changelog);
      writeFileSync(join(folder, file), textOf(file).replace(version, '0.0.1'));
      expect(() => run(folder, 'check-version.sh', `v${version}`)).toThrow(`${file} has version 0.0.1`);
    }
  });

  test('the versions and the changelog of this repository agree', () => {
    expect(run(createCheckout('current', textOf('CHANGELOG.md')), 'check-version.sh', `v${version}`)).toBe('');
  });

  test('uses the changes of its version as notes', () => {
    expect(run(createCheckout('notes', changelog), 'changes-of.sh', version).trim()).toBe('- this');
  });

  test('runs the tests before it publishes, has read-only permissions by default, and calls only scripts that exist', () => {
    const { permissions, jobs } = parse(textOf('.github/workflows/release.yml'));
    expect(permissions).toEqual({ contents: 'read' });
    expect(jobs.pack.needs).toBe('test');
    expect([jobs.npm.needs, jobs.image.needs, jobs.publish.needs]).toEqual(['pack', 'pack', ['npm', 'image']]);
    expect(jobs.test.permissions).toBeUndefined();
    const scripts = [...JSON.stringify(jobs).matchAll(/sh (scripts\/[\w/.-]+\.sh)/g)].map(([, path]) => path!);
    expect(scripts.length).toBeGreaterThan(2);
    for (const path of scripts) expect(textOf(path)).toMatch(/^#!\/bin\/sh/);
  });
});

describe('Helm chart', () => {
  const templates = globSync(`${chart}/templates/*`, { cwd: root }).map(textOf).join('\n');

  test('has the version of the server', () => {
    expect(parse(textOf(`${chart}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
  });

  test('sets only variables that the server reads', () => {
    const knownVariables = new Set<string>(Object.values(VARIABLES).map(({ name }) => name));
    const namedVariables = [...templates.matchAll(/\b(COUNTERSIGN_[A-Z_]+|DATABASE_URL)\b/g)].map(([, name]) => name!);
    expect(namedVariables.length).toBeGreaterThan(5);
    expect(namedVariables.filter((name) => !knownVariables.has(name))).toEqual([]);
  });

  test('uses only values that values.yaml contains', () => {
    const values = parse(textOf(`${chart}/values.yaml`));
    const usedValues = [...templates.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path!);
    expect(usedValues.length).toBeGreaterThan(10);
    const unknownValues = usedValues.filter(
      (path) =>
        path.split('.').reduce((value: unknown, name) => (value as Record<string, unknown>)?.[name], values) === undefined,
    );
    expect(unknownValues).toEqual([]);
  });
});
