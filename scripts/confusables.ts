import { readFileSync, writeFileSync } from 'node:fs';
import { argv, exit, stderr } from 'node:process';

/**
 * Generates packages/core/src/domain/confusables-data.ts from the Unicode Consortium's confusables.txt (UTS #39). The file is published at
 * https://www.unicode.org/Public/<version>/security/confusables.txt and is part of the source of ICU:
 *
 *     npm run confusables -- path/to/confusables.txt
 *
 * Stored skeletons depend on this table. A new version of the table needs a migration that sets agents.name_skeleton and
 * agents.name_skeleton_caseless to NULL; the server fills them again.
 */
const OUTPUT = new URL('../packages/core/src/domain/confusables-data.ts', import.meta.url);
const LINE_LENGTH = 120;

const [input] = argv.slice(2);
if (input === undefined) {
  stderr.write('Usage: npm run confusables -- path/to/confusables.txt\n');
  exit(2);
}
const text = readFileSync(input, 'utf8');
const version = /^# Version: (\d+\.\d+\.\d+)$/m.exec(text)?.[1];
const sources = new Map<string, number[]>();
for (const [, source, target] of text.matchAll(/^([0-9A-F]+) ;\t([0-9A-F ]+) ;\tMA\t/gm)) {
  const key = target!
    .split(' ')
    .map((codePoint) => Number.parseInt(codePoint, 16).toString(36))
    .join('+');
  sources.set(key, [...(sources.get(key) ?? []), Number.parseInt(source!, 16)]);
}
const count = [...sources.values()].reduce((sum, { length }) => sum + length, 0);
if (version === undefined || count !== Number(/^# total: (\d+)$/m.exec(text)?.[1])) {
  stderr.write(`${input} is not confusables.txt as Unicode publishes it: version ${version}, ${count} mappings read\n`);
  exit(1);
}

/** Sorted code points in base 36. Each one after the first is written as the distance from the previous one. */
const distances = (codePoints: number[]): string =>
  codePoints
    .toSorted((a, b) => a - b)
    .map((codePoint, index, sorted) => (codePoint - (sorted[index - 1] ?? 0)).toString(36))
    .join('.');
const packed = [...sources].map(([target, from]) => `${target}:${distances(from)}`).join(' ');
const lines = packed.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g'))!;
writeFileSync(
  OUTPUT,
  `// Made by scripts/confusables.ts from confusables.txt of Unicode ${version}, © Unicode, Inc., under the Unicode License v3
// (https://www.unicode.org/license.txt). Do not edit.

/** Version of Unicode that the table is of. */
export const CONFUSABLES_VERSION = '${version}';

/** How many code points it maps. */
export const CONFUSABLES_COUNT = ${count};

/** Entries \`target:sources\`; code points in base 36, those of a target joined by \`+\`, sources as distances joined by \`.\`. */
export const CONFUSABLES =
${lines.map((line, index) => `  '${line}'${index === lines.length - 1 ? ';' : ' +'}`).join('\n')}
`,
);
