import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

/**
 * A room, and what it must never import: folders of this repository, packages, or node's own modules. `onlyRooms` are the rooms of the
 * server that it may import. ARCHITECTURE.md shows the table.
 */
const TABLE: { room: string; never: (RegExp | string)[]; onlyRooms?: string[] }[] = [
  { room: 'packages/core/src/contract', never: ['packages/core/src/domain', 'packages/server', /^(?!typebox$)/] },
  {
    room: 'packages/core/src/portal',
    never: ['packages/core/src/domain', 'packages/server', 'packages/portal', /^(?!typebox$)/],
  },
  { room: 'packages/core/src/domain', never: ['packages/server', /^(?!node:crypto$)/] },
  { room: 'packages/core/src/otlp', never: ['packages/server', 'packages/portal', /^(?!protobufjs\/minimal\.js$)/] },
  { room: 'packages/embedded-database/src', never: ['packages/core', 'packages/server', /^(?!node:)/] },
  {
    room: 'packages/server/src/otlp',
    never: ['packages/server/src/http', 'packages/server/src/cli', 'packages/server/src/config', /^fastify/, /^pg$/],
  },
  {
    room: 'packages/server/src/database',
    never: [/^fastify/, /^commander/],
    onlyRooms: ['database', 'errors'],
  },
  { room: 'packages/server/src/errors', never: [/./], onlyRooms: ['errors'] },
  { room: 'packages/server/src/crypto', never: [/^(?!node:crypto$)/], onlyRooms: ['crypto'] },
  { room: 'packages/server/src/files', never: [/^(?!node:)/], onlyRooms: ['files'] },
  { room: 'packages/server/src/documents', never: [/^(?!node:)/], onlyRooms: ['documents'] },
  { room: 'packages/server/src/config', never: [/^pg$/, /^fastify/], onlyRooms: ['config', 'errors'] },
  {
    room: 'packages/server/src/secrets',
    never: [/^fastify/],
    onlyRooms: ['secrets', 'config', 'crypto', 'errors', 'files', 'storage'],
  },
  {
    room: 'packages/server/src/checkpoints',
    never: [/^fastify/],
    onlyRooms: ['checkpoints', 'config', 'database', 'files', 'ledger', 'secrets', 'storage'],
  },
  {
    room: 'packages/server/src/background',
    never: [/^fastify/],
    onlyRooms: ['background', 'config', 'database', 'ledger', 'storage'],
  },
  { room: 'packages/server/src/app', never: ['packages/server/src/cli'] },
  {
    room: 'packages/server/src/storage',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/cli',
      'packages/server/src/config',
      /^fastify/,
    ],
  },
  {
    room: 'packages/server/src/ledger',
    never: [
      'packages/server/src/http',
      'packages/server/src/ingest',
      'packages/server/src/cli',
      'packages/server/src/config',
      /^fastify/,
    ],
  },
  {
    room: 'packages/server/src/workspace',
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
    room: 'packages/server/src/backup',
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
    room: 'packages/server/src/people',
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
    room: 'packages/server/src/portal',
    never: ['packages/server/src/cli', 'packages/server/src/config', /^commander/],
  },
  {
    room: 'packages/server/src/ingest',
    never: ['packages/server/src/http', 'packages/server/src/cli', 'packages/server/src/config', /^fastify/, /^pg$/],
  },
  {
    room: 'packages/client/src/importers',
    never: ['packages/client/src/cli', 'packages/server', /^(?!(@rgrove\/parse-xml|fzstd|node:zlib|node:crypto)$)/],
  },
  { room: 'packages/client/src/cli', never: ['packages/server', 'packages/core/src/portal', /^(?!node:)/] },
  { room: 'packages/server/src/http', never: ['packages/server/src/cli', 'packages/server/src/config'] },
  { room: 'packages/portal/src', never: ['packages/server', /^(node:|typebox$)/] },
  {
    room: 'packages/client/src',
    never: ['packages/server', 'packages/core/src/portal', /^(?!@noble\/|@rgrove\/parse-xml$|fzstd$|node:)/],
  },
];

/** Rooms that hand a pool on may know its type, and nothing else of the driver. */
const TYPE_ONLY_DRIVER = [
  'packages/server/src/storage',
  'packages/server/src/workspace',
  'packages/server/src/ledger',
  'packages/server/src/backup',
  'packages/server/src/people',
  'packages/server/src/portal',
  'packages/server/src/http',
];

/** Whether a file lies in a room of the server that is not among those allowed. */
const isOutside = (rooms: string[] | undefined, target: string): boolean =>
  rooms !== undefined &&
  target.startsWith('packages/server/src/') &&
  !rooms.some((room) => target.startsWith(`packages/server/src/${room}/`));

interface Import {
  file: string;
  /** A path of the repository, or the specifier as it stands. */
  target: string;
  typeOnly: boolean;
}

/** The imports of a file. Relative ones and those of our own packages are paths of the repository. */
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
    return { file, target, typeOnly: type !== undefined };
  });
}

const filesOf = (room: string): string[] => globSync(`${room}/**/*.{ts,tsx}`, { cwd: root });

/** The packages and modules that a file takes in when it runs, through whatever files of this repository. */
function reaches(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return importsOf(file).flatMap(({ target, typeOnly }) =>
    typeOnly ? [] : target.startsWith('packages/') ? reaches(target, seen) : [target],
  );
}

/** Each file of a folder that imports itself through other files, with the files in between. Imports of types count too. */
function circularImports(folder: string): string[] {
  const edges = new Map(filesOf(folder).map((file) => [file, importsOf(file).map(({ target }) => target)]));
  const pathBack = (start: string): string[] | undefined => {
    const paths = [[start]];
    const seen = new Set<string>();
    for (const path of paths) {
      for (const target of edges.get(path.at(-1)!) ?? []) {
        if (target === start) return path;
        if (seen.has(target)) continue;
        seen.add(target);
        paths.push([...path, target]);
      }
    }
    return undefined;
  };
  return [...edges.keys()].flatMap((file) => pathBack(file)?.join(' -> ') ?? []);
}

describe('the import table of ARCHITECTURE.md', () => {
  test.each(TABLE)('$room imports nothing it must not', ({ room, never, onlyRooms }) => {
    const files = filesOf(room);
    expect(files.length).toBeGreaterThan(0);
    const wrong = files
      .flatMap(importsOf)
      .filter(
        ({ target }) =>
          never.some((rule) =>
            typeof rule === 'string' ? target.startsWith(rule) : !target.startsWith('packages/') && rule.test(target),
          ) || isOutside(onlyRooms, target),
      );
    expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test.each(TYPE_ONLY_DRIVER)('%s knows the driver by its types alone', (room) => {
    const wrong = filesOf(room)
      .flatMap(importsOf)
      .filter(({ target, typeOnly }) => target === 'pg' && !typeOnly);
    expect(wrong.map(({ file }) => file)).toEqual([]);
  });

  test('the root of the server holds its entry alone, and only the command line imports the composed server', () => {
    expect(globSync('packages/server/src/*.ts', { cwd: root })).toEqual(['packages/server/src/main.ts']);
    const wrong = globSync('packages/server/src/*/**/*.ts', { cwd: root })
      .filter((file) => !/src\/(cli|app)\//.test(file))
      .flatMap(importsOf)
      .filter(({ target }) => target.startsWith('packages/server/src/app/'));
    expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test('the domain takes only types of the contract, and what of it stands without the schema library', () => {
    const wrong = filesOf('packages/core/src/domain').filter((file) => reaches(file).some((target) => target !== 'node:crypto'));
    expect(wrong).toEqual([]);
  });

  test('the pages take the contract and the routes by their types alone: no schema is in what browsers load', () => {
    const wrong = filesOf('packages/portal/src')
      .flatMap(importsOf)
      .filter(({ target, typeOnly }) => /^packages\/core\/src\/(contract|portal)\//.test(target) && !typeOnly);
    expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test('the client library, without its command, runs where there is no Node, and brings no schema library', () => {
    const library = filesOf('packages/client/src').filter((file) => !/src\/(cli|importers)\//.test(file));
    const wrong = library.flatMap((file) => reaches(file).filter((target) => !target.startsWith('@noble/')));
    expect(wrong).toEqual([]);
  });

  test('the domain has no clock, no randomness and no environment', () => {
    const wrong = filesOf('packages/core/src').filter((file) =>
      /\bDate\.now\(|\bnew Date\(\)|Math\.random|process\.|randomUUID|randomBytes/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(wrong).toEqual([]);
  });

  test('the command countersign touches the process in its terminal alone, and nothing of the library knows the command', () => {
    const touches = filesOf('packages/client/src/cli').filter((file) =>
      /process\.(env|stdin|stdout|stderr)/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(touches.sort()).toEqual(['packages/client/src/cli/main.ts', 'packages/client/src/cli/terminal.ts']);
    const library = filesOf('packages/client/src').filter((file) => !/src\/(cli|importers)\//.test(file));
    const knows = library.flatMap(importsOf).filter(({ target }) => /packages\/client\/src\/(cli|importers)\//.test(target));
    expect(knows).toEqual([]);
  });

  test('the environment is read in config/config.ts alone', () => {
    const wrong = filesOf('packages/server/src').filter(
      (file) => file !== 'packages/server/src/config/config.ts' && /process\.env/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(wrong).toEqual([]);
  });

  test('the server, which bundles the embedded database, asks for the same PostgreSQL packages', () => {
    const packagesOf = (name: string) =>
      JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')).optionalDependencies;
    expect(packagesOf('server')).toEqual(packagesOf('embedded-database'));
  });

  test('no circle: no room imports one that imports it', () => {
    const edges = new Map<string, Set<string>>();
    for (const file of filesOf('packages/*/src')) {
      for (const { target, typeOnly } of importsOf(file)) {
        const [from, to] = [dirname(file), dirname(target)];
        if (typeOnly || from === to || !target.startsWith('packages/') || !/src\/./.test(to)) continue;
        edges.set(from, (edges.get(from) ?? new Set()).add(to));
      }
    }
    const circles = [...edges].flatMap(([from, targets]) =>
      [...targets].filter((to) => edges.get(to)?.has(from)).map((to) => `${from} <-> ${to}`),
    );
    expect(circles).toEqual([]);
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
