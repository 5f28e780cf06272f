import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const BYTES_MAX = 350 * 1024;
/** A browser that uses HTTP/1.1 loads six files at a time from one host, so 18 files take three rounds. */
const FILES_MAX = 18;

/** The scripts and style sheets that a page needs before its first paint: the given files and their static imports. */
function initialFiles(start: readonly string[]): string[] {
  const needed = new Set<string>();
  const add = (name: string) => {
    if (needed.has(name)) return;
    needed.add(name);
    if (!name.endsWith('.js')) return;
    const text = readFileSync(dist + name, 'utf8');
    for (const [, imported] of text.matchAll(/(?:^|[;}\s])(?:import|export)[^'"();]*["']\.\/([^"']+\.js)["']/g))
      add(`assets/${imported}`);
  };
  for (const name of start) add(name);
  return [...needed];
}

/** The script and style sheets of a page, found by their names in the entry script. */
const ownFilesOf = (name: string): string[] => {
  const entry = /assets\/index-[\w-]+\.js/.exec(readFileSync(`${dist}index.html`, 'utf8'))?.[0] ?? '';
  const text = readFileSync(dist + entry, 'utf8');
  return [...new Set([...text.matchAll(/assets\/[\w-]+\.(?:js|css)/g)].map(([path]) => path))].filter((path) =>
    path.startsWith(`assets/${name}-`),
  );
};

/** The files that a page needs before its first paint, without fonts, and the style sheet that names the fonts. */
function filesOf(name: string): { files: string[]; styleSheet: string } {
  const html = readFileSync(`${dist}index.html`, 'utf8');
  const start = [...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map(([, path]) => path as string);
  const ownFiles = ownFilesOf(name);
  expect(ownFiles.some((path) => path.endsWith('.js'))).toBe(true);
  return { files: initialFiles([...start, ...ownFiles]), styleSheet: start.find((path) => path.endsWith('.css')) ?? '' };
}

test.each(['sign-in-page', 'overview-page', 'agent-page', 'decision-page'])(
  `%s needs at most ${FILES_MAX} files before its first paint`,
  (name) => {
    const { files } = filesOf(name);
    expect(files.length).toBeGreaterThan(3);
    expect(files.length).toBeLessThanOrEqual(FILES_MAX);
  },
);

test.each(['sign-in-page', 'overview-page'])(
  'the compressed scripts and style sheets of %s and the fonts are smaller than 350 KiB in total',
  (name) => {
    const { files, styleSheet } = filesOf(name);
    const fonts = readFileSync(dist + styleSheet, 'utf8').match(/assets\/[\w-]+\.woff2/g) ?? [];
    const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(dist + path)).length, 0);
    const bytesWithFonts = bytes + [...new Set(fonts)].reduce((sum, path) => sum + readFileSync(dist + path).length, 0);
    expect(bytesWithFonts).toBeLessThan(BYTES_MAX);
  },
);

test('the initial scripts contain neither the schema library nor source maps', () => {
  const html = readFileSync(`${dist}index.html`, 'utf8');
  const start = [...html.matchAll(/src="\/([^"]+\.js)"/g)].map(([, path]) => path as string);
  const text = initialFiles(start)
    .map((path) => readFileSync(dist + path, 'utf8'))
    .join('\n');
  expect(text).not.toMatch(/typebox|sourceMappingURL/i);
});
