// Builds the files of the package: dist/ (plain JavaScript for Node 20.12 and later), portal/ and LICENSE. `npm pack` runs it (prepack).
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { bundle, dependencies, home } from './bundle.js';

const { required, optional } = dependencies();

rmSync(`${home}dist`, { recursive: true, force: true });
await bundle({ outdir: 'dist', target: 'node20.12', external: [...required, ...optional] });
// Builds the portal's pages if necessary, and copies them to where src/portal/built-pages.ts looks for them.
const pages = spawnSync('sh', [`${home}../../scripts/build-portal.sh`], { stdio: ['ignore', 'ignore', 'inherit'] });
if (pages.status !== 0) throw new Error('the portal was not built');
rmSync(`${home}portal`, { recursive: true, force: true });
cpSync(`${home}../portal/dist`, `${home}portal`, { recursive: true, filter: (path) => !path.endsWith('.built') });
copyFileSync(`${home}../../LICENSE`, `${home}LICENSE`);
