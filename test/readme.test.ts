import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../packages/server/src/config.ts';
import { EXIT_CODES } from '../packages/server/src/exit-codes.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

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
});
