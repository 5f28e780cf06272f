import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../packages/server/src/config/variables.ts';
import { EXIT_CODES } from '../packages/server/src/errors/exit-codes.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const textOf = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** The paths of the tracked files that may contain commands for people or jobs. */
const paths = execFileSync('git', ['ls-files', '*.md', '*.yml', '*.ts', '*.tsx', '*.sh'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && !path.startsWith('test/'));

describe('commands with npx', () => {
  // npx looks up an uninstalled package in the registry, where anyone could register the names of this project.
  const REQUESTS_FROM_REGISTRY = /npx (?![^\n]*--package=)(?!--no )[^\n]*(?:@countersign\/|countersign)/;

  test('request no unpublished package from a registry, in the Markdown, YAML, TypeScript and shell files outside test/', () => {
    const violations = paths.flatMap((path) =>
      textOf(path)
        .split('\n')
        .filter((line) => REQUESTS_FROM_REGISTRY.test(line) && !line.includes('`npx countersign'))
        .map((line) => `${path}: ${line}`),
    );
    expect(violations).toEqual([]);
  });

  // With an empty `--package=`, npx installs a package named `undefined`, which exists in the registry.
  test('stop if they take the package from a variable that is empty', () => {
    const violations = paths.flatMap((path) => textOf(path).match(/^.*npx [^\n]*--package=\$(?!\{\w+:\?).*$/gm) ?? []);
    expect(violations).toEqual([]);
  });
});

describe('documentation', () => {
  test('docs/configuration.md lists the variables that the server reads', () => {
    const rows = Object.values(VARIABLES).map(
      ({ name, default: fallback, meaning }) =>
        `| \`${name}\` | ${fallback === undefined ? '' : `\`${fallback}\``} | ${meaning} |`,
    );
    const table = textOf('docs/configuration.md').match(/^\| `(COUNTERSIGN_|DATABASE_URL).*$/gm);
    expect(table).toEqual(rows);
  });

  test('docs/commands.md lists every exit code', () => {
    const listedCodes = [...textOf('docs/commands.md').matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, code, meaning]) => ({
      status: Number(code),
      meaning,
    }));
    expect(listedCodes).toEqual(Object.values(EXIT_CODES));
  });

  test('docs/README.md lists every page of docs', () => {
    const pages = readdirSync(new URL('../docs/', import.meta.url)).filter(
      (name) => name.endsWith('.md') && name !== 'README.md',
    );
    const listedPages = [...textOf('docs/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => name);
    expect(listedPages.sort()).toEqual(pages.sort());
  });

  test('every relative link of README.md and docs/*.md points to an existing path', () => {
    const pages = paths.filter((path) => path === 'README.md' || /^docs\/[^/]+\.md$/.test(path));
    const brokenLinks = pages.flatMap((path) =>
      [...textOf(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .filter(([, target]) => !existsSync(new URL(target!, new URL(`../${path}`, import.meta.url))))
        .map(([, target]) => `${path}: ${target}`),
    );
    expect(brokenLinks).toEqual([]);
  });

  test('git ignores files that commands in README.md and in the READMEs of two examples create in the checkout', () => {
    const pages = ['README.md', 'examples/ci/README.md', 'examples/tau-bench/README.md'].map(textOf);
    const writtenFiles = pages.flatMap((page) =>
      [...page.matchAll(/(?: > |--output |--attestation |curl -sSfLO \S+\/)([\w-]+\.\w+)/g)].map(([, name]) => name!),
    );
    expect(writtenFiles).toEqual(expect.arrayContaining(['trust.json', 'report.xml', 'decision.json', 'attestation.json']));
    const ignoredPaths = textOf('.gitignore').split('\n');
    expect(writtenFiles.filter((name) => !ignoredPaths.includes(`/${name}`))).toEqual([]);
  });

  test.each([
    'README.md',
    'packages/client/README.md',
    'packages/server/README.md',
    'examples/ci/README.md',
    'examples/ci/github.yml',
    'examples/ci/gitlab.yml',
    'action.yml',
  ])('%s names its package and states that it is not published yet', (path) => {
    expect(textOf(path)).toMatch(/@countersign\/(client|server)/);
    expect(textOf(path)).toMatch(/not\s+published\s+yet/i);
  });

  test.each(['packages/client/README.md', 'packages/server/README.md'])(
    '%s has no relative links, because it is published without the repository',
    (path) => {
      expect(textOf(path)).not.toMatch(/\]\((?!https?:|#)/);
    },
  );
});
