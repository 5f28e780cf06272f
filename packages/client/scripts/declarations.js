// The declarations of what src/index.ts exports, self-contained: emitted by the compiler, with the paths of this repository made
// relative. What is not reachable from index.d.ts is left out, and what reaches out of the package is an error.
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
    return reachable((path) => readFileSync(join(folder, emittedPath(path)), 'utf8'));
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

/** Where the compiler puts a file of dist/: the client's own at the top, those of core in a folder of that name. */
const emittedPath = (path) => (path.startsWith('core/') ? path.replace('core/', 'core/src/') : `client/src/${path}`);

function reachable(read) {
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
  const [, ofCore] = /^@countersign\/core\/(.+)$/.exec(specifier) ?? [];
  if (ofCore === undefined) throw new Error(`${path} reaches out of the package: ${specifier}`);
  return `core/${ofCore}.d.ts`;
}
