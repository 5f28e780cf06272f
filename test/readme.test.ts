import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../packages/server/src/config.ts';
import { EXIT_CODES } from '../packages/server/src/exit-codes.ts';

const textOf = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const readme = textOf('README.md');

describe('the README says what is true', () => {
  test('its configuration table is the one that the server reads', () => {
    const rows = Object.values(VARIABLES).map(
      ({ name, default: fallback, meaning }) =>
        `| \`${name}\` | ${fallback === undefined ? '' : `\`${fallback}\``} | ${meaning} |`,
    );
    const table = readme.match(/^\| `(COUNTERSIGN_|DATABASE_URL).*$/gm);
    expect(table).toEqual(rows);
  });

  test('every exit code is in its table', () => {
    const listed = [...readme.matchAll(/^\| (\d[\d, ]*) \| /gm)].flatMap(([, codes]) => codes!.split(', ').map(Number));
    expect(listed).toEqual(Object.values(EXIT_CODES).map(({ status }) => status));
  });

  test.each([
    'README.md',
    'packages/client/README.md',
    'packages/server/README.md',
    'examples/ci/README.md',
    'examples/ci/github.yml',
    'examples/ci/gitlab.yml',
    'action.yml',
  ])('%s names a package as a registry would have it, and says that none has it yet', (path) => {
    const text = textOf(path);
    expect(text).toMatch(/(install |npx [^\n]*|['"])@countersign\//);
    expect(text).toMatch(/not published yet/i);
  });

  test.each(['packages/client/README.md', 'packages/server/README.md'])(
    '%s travels alone, and links to nothing beside it',
    (path) => {
      expect(textOf(path)).not.toMatch(/\]\((?!https?:|#)/);
    },
  );
});
