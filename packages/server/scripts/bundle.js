// Bundles the server into plain JavaScript. build.js makes the bundle for the package, and test-bundle.js makes one for the tests.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** The folder of this package. */
export const packageFolder = fileURLToPath(new URL('../', import.meta.url));

/** The names of the dependencies in package.json: the required and the optional ones. */
export function dependencies() {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${packageFolder}package.json`, 'utf8'));
  return { required: Object.keys(dependencies), optional: Object.keys(optionalDependencies) };
}

/**
 * Bundles the server into `outdir`, with the workspace packages core and embedded-database. The modules of `external` stay imports.
 * @param options esbuild's options. They override the options below.
 */
export const bundle = (options) =>
  build({
    absWorkingDir: packageFolder,
    entryPoints: {
      main: 'src/main.ts',
      // Runs as a separate process. The file must be in the folder of the code that starts the process.
      keeper: '../embedded-database/src/keeper.ts',
      // Runs as a worker thread. The file must be in the folder of the code that starts the thread.
      'body-worker': 'src/http/body-worker.ts',
    },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
    ...options,
  });
