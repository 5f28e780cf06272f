// Builds dist/: plain JavaScript that runs on Node 20 and later, outside the repository. Called by `npm pack` (prepack).
// The core package is bundled in; the dependencies of package.json stay imports.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const home = fileURLToPath(new URL('../', import.meta.url));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${home}package.json`, 'utf8'));

rmSync(`${home}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: home,
  entryPoints: {
    main: 'src/main.ts',
    // Runs as a separate process. The code that starts it expects the file in its own folder.
    keeper: '../embedded-database/src/keeper.ts',
    // Runs as a worker thread, and is found in the same way.
    'body-worker': 'src/http/body-worker.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.12',
  external: [...Object.keys(dependencies), ...Object.keys(optionalDependencies)],
  logLevel: 'warning',
});
// Builds the portal's pages if necessary, and copies them to where src/portal/built-pages.ts looks for them.
const pages = spawnSync('sh', [`${home}../../scripts/build-portal.sh`], { stdio: ['ignore', 'ignore', 'inherit'] });
if (pages.status !== 0) throw new Error('the portal was not built');
rmSync(`${home}portal`, { recursive: true, force: true });
cpSync(`${home}../portal/dist`, `${home}portal`, { recursive: true, filter: (path) => !path.endsWith('.built') });
copyFileSync(`${home}../../LICENSE`, `${home}LICENSE`);
