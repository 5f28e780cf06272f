// The self-contained declarations of the exports of src/index.ts. The compiler emits them, and imports of @countersign/core become
// relative paths. Files that index.d.ts does not reach are left out. An import of any other package is an error.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';

const require = createRequire(import.meta.url);

/** Path and text of each declaration file, index.d.ts first. */
export function declarations(home) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-declarations-'));
  try {
    emit(home, folder);
    return reachableFiles((path) => readFileSync(join(folder, emittedPath(path)), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function emit(home, folder) {
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', folder], {
    cwd: home,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the declarations cannot be emitted:\n${stdout}${stderr}`);
}

/**
 * The path at which the compiler emits a file of dist/. In dist/, the client's files are at the top, and the files of core are in `core/`.
 */
const emittedPath = (path) => (path.startsWith('core/') ? path.replace('core/', 'core/src/') : `client/src/${path}`);

function reachableFiles(read) {
  const files = new Map();
  const follow = (path) => {
    if (files.has(path)) return;
    files.set(path, undefined);
    const text = read(path).replace(/(from |import\()(['"])([^'"]+)\2/g, (_, before, quote, specifier) => {
      const target = targetOf(path, specifier);
      follow(target);
      const relative = posix.relative(posix.dirname(path), target).replace(/\.d\.ts$/, '.js');
      return `${before}${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`;
    });
    files.set(path, text);
  };
  follow('index.d.ts');
  return files;
}

function targetOf(path, specifier) {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier.replace(/\.[jt]s$/, '.d.ts'));
  const [, coreFile] = /^@countersign\/core\/(.+)$/.exec(specifier) ?? [];
  if (coreFile === undefined) throw new Error(`${path} imports a file outside the package: ${specifier}`);
  return `core/${coreFile}.d.ts`;
}
