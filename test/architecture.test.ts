import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');

/** A line of a tree: two spaces for each level, a path without spaces, and an optional description. */
const LINE = /^( *)(\S+)(?: {2,}\S.*)?$/;

/** The paths of a tree, each joined to its parents. A malformed line is returned unchanged, so the tests report it as a missing path. */
function pathsOf(tree: string): string[] {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent, name] = LINE.exec(line) ?? [];
    if (indent === undefined || name === undefined || indent.length % 2 !== 0) return [line];
    const depth = indent.length / 2;
    if (depth > parents.length) return [line];
    parents.length = depth;
    parents.push(name);
    return [parents.join('')];
  });
}

const trees = [...page.matchAll(/^```tree\n(.*?)\n```$/gms)].map(([, tree]) => tree!);
const listedPaths = trees.flatMap(pathsOf);

/** Whether a path exists: as a folder if it ends with a slash, otherwise as a file. */
const exists = (path: string): boolean =>
  existsSync(join(root, path)) && statSync(join(root, path)).isDirectory() === path.endsWith('/');

describe('trees of ARCHITECTURE.md', () => {
  test('name only files and folders that exist', () => {
    expect(listedPaths.length).toBeGreaterThan(100);
    expect(listedPaths.filter((path) => !exists(path))).toEqual([]);
  });

  test('contain no path twice', () => {
    for (const paths of trees.map(pathsOf)) expect(paths.filter((path, index) => paths.indexOf(path) !== index)).toEqual([]);
  });

  test('name every folder with sources below the src of a package', () => {
    const files = globSync('packages/*/src/**/*.{ts,tsx,js,css}', { cwd: root });
    const folders = new Set(files.map((file) => file.replace(/[^/]*$/, '')));
    expect(folders.size).toBeGreaterThan(30);
    expect([...folders].filter((folder) => !listedPaths.includes(folder)).sort()).toEqual([]);
  });

  test('have no line over 100 characters', () => {
    expect(trees.flatMap((tree) => tree.split('\n')).filter((line) => line.length > 100)).toEqual([]);
  });
});
