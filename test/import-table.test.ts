import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

/**
 * A folder, and what it must not import. In `never`, a string is the start of a path in this repository, and a pattern matches names of
 * packages and Node modules. `onlyFolders` are the only folders of the server that it may import. ARCHITECTURE.md describes these rules.
 */
const TABLE: { folder: string; never: (RegExp | string)[]; onlyFolders?: string[] }[] = [
  { folder: 'packages/core/src/contract', never: ['packages/core/src/domain', 'packages/server', /^(?!typebox$)/] },
  {
    folder: 'packages/core/src/portal',
    never: ['packages/core/src/domain', 'packages/server', 'packages/portal', /^(?!typebox$)/],
  },
  { folder: 'packages/core/src/domain', never: ['packages/server', /^(?!node:crypto$)/] },
  { folder: 'packages/core/src/otlp', never: ['packages/server', 'packages/portal', /^(?!protobufjs\/minimal\.js$)/] },
  { folder: 'packages/embedded-database/src', never: ['packages/core', 'packages/server', /^(?!node:)/] },
  {
    folder: 'packages/server/src/otlp',
    never: ['packages/server/src/http', 'packages/server/src/cli', 'packages/server/src/config', /^fastify/, /^pg$/],
  },
  {
    folder: 'packages/server/src/database',
    never: [/^fastify/, /^commander/],
    onlyFolders: ['database', 'errors'],
  },
  { folder: 'packages/server/src/errors', never: [/./], onlyFolders: ['errors'] },
  { folder: 'packages/server/src/crypto', never: [/^(?!node:crypto$)/], onlyFolders: ['crypto'] },
  { folder: 'packages/server/src/files', never: [/^(?!node:)/], onlyFolders: ['files'] },
  { folder: 'packages/server/src/documents', never: [/^(?!node:)/], onlyFolders: ['documents'] },
  { folder: 'packages/server/src/config', never: [/^pg$/, /^fastify/], onlyFolders: ['config', 'errors'] },
  {
    folder: 'packages/server/src/secrets',
    never: [/^fastify/],
    onlyFolders: ['secrets', 'config', 'crypto', 'errors', 'files', 'storage'],
  },
  {
    folder: 'packages/server/src/checkpoints',
    never: [/^fastify/],
    onlyFolders: ['checkpoints', 'config', 'database', 'files', 'ledger', 'secrets', 'storage'],
  },
  {
    folder: 'packages/server/src/retention',
    never: [/^fastify/],
    onlyFolders: ['retention', 'database', 'documents', 'ledger', 'storage', 'workspace'],
  },
  {
    folder: 'packages/server/src/background',
    never: [/^fastify/],
    onlyFolders: ['background', 'config', 'database', 'ledger', 'retention', 'storage'],
  },
  { folder: 'packages/server/src/app', never: ['packages/server/src/cli'] },
  {
    folder: 'packages/server/src/storage',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/cli',
      'packages/server/src/config',
      /^fastify/,
    ],
  },
  {
    folder: 'packages/server/src/ledger',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/cli',
      'packages/server/src/config',
      /^fastify/,
    ],
  },
  {
    folder: 'packages/server/src/workspace',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/cli',
      'packages/server/src/config',
      /^fastify/,
      /^commander/,
    ],
  },
  {
    folder: 'packages/server/src/backup',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/cli',
      'packages/server/src/config',
      'packages/server/src/storage',
      /^fastify/,
      /^commander/,
    ],
  },
  {
    folder: 'packages/server/src/people',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/portal',
      'packages/server/src/cli',
      'packages/server/src/config',
      /^fastify/,
      /^commander/,
    ],
  },
  {
    folder: 'packages/server/src/portal',
    never: ['packages/server/src/cli', 'packages/server/src/config', /^commander/],
  },
  {
    folder: 'packages/server/src/ingest',
    never: ['packages/server/src/http', 'packages/server/src/cli', 'packages/server/src/config', /^fastify/, /^pg$/],
  },
  {
    folder: 'packages/client/src/importers',
    never: ['packages/client/src/cli', 'packages/server', /^(?!(@rgrove\/parse-xml|fzstd|node:zlib|node:crypto)$)/],
  },
  { folder: 'packages/client/src/cli', never: ['packages/server', 'packages/core/src/portal', /^(?!node:)/] },
  { folder: 'packages/server/src/http', never: ['packages/server/src/cli', 'packages/server/src/config'] },
  { folder: 'packages/portal/src', never: ['packages/server', /^(node:|typebox$)/] },
  {
    folder: 'packages/client/src',
    never: ['packages/server', 'packages/core/src/portal', /^(?!@noble\/|@rgrove\/parse-xml$|fzstd$|node:)/],
  },
];

/** Folders that may import the database driver only for its types. */
const TYPE_ONLY_DRIVER = [
  'packages/server/src/storage',
  'packages/server/src/workspace',
  'packages/server/src/ledger',
  'packages/server/src/backup',
  'packages/server/src/people',
  'packages/server/src/portal',
  'packages/server/src/http',
];

/** Whether a file is in a folder of the server that is not one of the allowed folders. */
const isOutside = (folders: string[] | undefined, target: string): boolean =>
  folders !== undefined &&
  target.startsWith('packages/server/src/') &&
  !folders.some((folder) => target.startsWith(`packages/server/src/${folder}/`));

interface Import {
  file: string;
  /** A path of the repository, or the unchanged specifier. */
  target: string;
  isTypeOnly: boolean;
}

/** The imports of a file. Relative imports, and imports of core and the embedded database, become paths of the repository. */
function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|import\('([^']+)'\)|^import\s+'([^']+)'/gm);
  return [...found].map(([, type, from, dynamic, bare]) => {
    const specifier = (from ?? dynamic ?? bare)!;
    const target = specifier.startsWith('.')
      ? normalize(join(dirname(file), specifier))
      : specifier
          .replace(/^@countersign\/core\/(.*)$/, 'packages/core/src/$1.ts')
          .replace(/^@countersign\/embedded-database$/, 'packages/embedded-database/src/index.ts');
    return { file, target, isTypeOnly: type !== undefined };
  });
}

const filesOf = (folder: string): string[] => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root });

/** The packages and modules that a file loads at run time, directly or through other files of this repository. */
function loadedModules(file: string, visited = new Set<string>()): string[] {
  if (visited.has(file)) return [];
  visited.add(file);
  return importsOf(file).flatMap(({ target, isTypeOnly }) =>
    isTypeOnly ? [] : target.startsWith('packages/') ? loadedModules(target, visited) : [target],
  );
}

/** Each file of a folder that imports itself through other files, with the files in between. Imports of types count too. */
function circularImports(folder: string): string[] {
  const edges = new Map(filesOf(folder).map((file) => [file, importsOf(file).map(({ target }) => target)]));
  const pathBack = (start: string): string[] | undefined => {
    const paths = [[start]];
    const visited = new Set<string>();
    for (const path of paths) {
      for (const target of edges.get(path.at(-1)!) ?? []) {
        if (target === start) return path;
        if (visited.has(target)) continue;
        visited.add(target);
        paths.push([...path, target]);
      }
    }
    return undefined;
  };
  return [...edges.keys()].flatMap((file) => pathBack(file)?.join(' -> ') ?? []);
}

describe('import rules of ARCHITECTURE.md', () => {
  test.each(TABLE)('$folder imports nothing that the table forbids', ({ folder, never, onlyFolders }) => {
    const files = filesOf(folder);
    expect(files.length).toBeGreaterThan(0);
    const violations = files
      .flatMap(importsOf)
      .filter(
        ({ target }) =>
          never.some((rule) =>
            typeof rule === 'string' ? target.startsWith(rule) : !target.startsWith('packages/') && rule.test(target),
          ) || isOutside(onlyFolders, target),
      );
    expect(violations.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test.each(TYPE_ONLY_DRIVER)('%s imports the driver only for its types', (folder) => {
    const violations = filesOf(folder)
      .flatMap(importsOf)
      .filter(({ target, isTypeOnly }) => target === 'pg' && !isTypeOnly);
    expect(violations.map(({ file }) => file)).toEqual([]);
  });

  test('the only file directly in packages/server/src is main.ts, and only cli and app import app', () => {
    expect(globSync('packages/server/src/*.ts', { cwd: root })).toEqual(['packages/server/src/main.ts']);
    const violations = globSync('packages/server/src/*/**/*.ts', { cwd: root })
      .filter((file) => !/src\/(cli|app)\//.test(file))
      .flatMap(importsOf)
      .filter(({ target }) => target.startsWith('packages/server/src/app/'));
    expect(violations.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test('the domain loads no module except node:crypto, and so no schema library', () => {
    const violations = filesOf('packages/core/src/domain').filter((file) =>
      loadedModules(file).some((target) => target !== 'node:crypto'),
    );
    expect(violations).toEqual([]);
  });

  test('the pages import the contract and the routes only for their types, so browsers load no schemas', () => {
    const violations = filesOf('packages/portal/src')
      .flatMap(importsOf)
      .filter(({ target, isTypeOnly }) => /^packages\/core\/src\/(contract|portal)\//.test(target) && !isTypeOnly);
    expect(violations.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test('the client library, without its command and its importers, loads no package except @noble/* and no Node module', () => {
    const library = filesOf('packages/client/src').filter((file) => !/src\/(cli|importers)\//.test(file));
    const violations = library.flatMap((file) => loadedModules(file).filter((target) => !target.startsWith('@noble/')));
    expect(violations).toEqual([]);
  });

  test('core uses no clock, no randomness and no environment', () => {
    const violations = filesOf('packages/core/src').filter((file) =>
      /\bDate\.now\(|\bnew Date\(\)|Math\.random|process\.|randomUUID|randomBytes/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(violations).toEqual([]);
  });

  test("of the client's cli, only main.ts and terminal.ts use process.env and standard streams", () => {
    const usingProcess = filesOf('packages/client/src/cli').filter((file) =>
      /process\.(env|stdin|stdout|stderr)/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(usingProcess.sort()).toEqual(['packages/client/src/cli/main.ts', 'packages/client/src/cli/terminal.ts']);
  });

  test('the client library imports neither its command nor its importers', () => {
    const library = filesOf('packages/client/src').filter((file) => !/src\/(cli|importers)\//.test(file));
    const violations = library.flatMap(importsOf).filter(({ target }) => /packages\/client\/src\/(cli|importers)\//.test(target));
    expect(violations).toEqual([]);
  });

  test('only config/config.ts of the server reads the environment', () => {
    const violations = filesOf('packages/server/src').filter(
      (file) => file !== 'packages/server/src/config/config.ts' && /process\.env/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(violations).toEqual([]);
  });

  test('the server depends on the same PostgreSQL packages as the embedded database that it bundles', () => {
    const packagesOf = (name: string) =>
      JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')).optionalDependencies;
    expect(packagesOf('server')).toEqual(packagesOf('embedded-database'));
  });

  test('no two folders below src import each other at run time', () => {
    const edges = new Map<string, Set<string>>();
    for (const file of filesOf('packages/*/src')) {
      for (const { target, isTypeOnly } of importsOf(file)) {
        const [from, to] = [dirname(file), dirname(target)];
        if (isTypeOnly || from === to || !target.startsWith('packages/') || !/src\/./.test(to)) continue;
        edges.set(from, (edges.get(from) ?? new Set()).add(to));
      }
    }
    const cycles = [...edges].flatMap(([from, targets]) =>
      [...targets].filter((to) => edges.get(to)?.has(from)).map((to) => `${from} <-> ${to}`),
    );
    expect(cycles).toEqual([]);
  });

  test.each([
    'packages/core/src',
    'packages/embedded-database/src',
    'packages/portal/src',
    'packages/server/src',
    'packages/client/src',
  ])('no file of %s imports itself through other files', (folder) => {
    expect(circularImports(folder)).toEqual([]);
  });
});
