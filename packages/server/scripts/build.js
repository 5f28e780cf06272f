// Builds the files of the package: dist/ (plain JavaScript for Node 20.12 and later), portal/ and LICENSE. `npm pack` runs it (prepack).
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { bundle, dependencies, packageFolder } from './bundle.js';

const { required, optional } = dependencies();

rmSync(`${packageFolder}dist`, { recursive: true, force: true });
await bundle({ outdir: 'dist', target: 'node20.12', external: [...required, ...optional] });
// Builds the portal's pages if necessary, and copies them to where src/portal/built-pages.ts looks for them.
const pages = spawnSync('sh', [`${packageFolder}../../scripts/build-portal.sh`], { stdio: ['ignore', 'ignore', 'inherit'] });
if (pages.status !== 0) throw new Error('the portal was not built');
rmSync(`${packageFolder}portal`, { recursive: true, force: true });
cpSync(`${packageFolder}../portal/dist`, `${packageFolder}portal`, {
  recursive: true,
  filter: (path) => !path.endsWith('.built'),
});
copyFileSync(`${packageFolder}../../LICENSE`, `${packageFolder}LICENSE`);
