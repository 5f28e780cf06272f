// Builds dist/: plain JavaScript that runs on Node 20 and later, outside the repository. Called by `npm pack` (prepack).
// The core package is bundled in; the dependencies of package.json stay imports.
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const home = fileURLToPath(new URL('../', import.meta.url));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${home}package.json`, 'utf8'));

rmSync(`${home}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: home,
  entryPoints: {
    main: 'src/main.ts',
    // A process of its own, found beside the chunk that starts it.
    keeper: 'src/database/embedded/keeper.ts',
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
copyFileSync(`${home}../../LICENSE`, `${home}LICENSE`);
