// Builds the server for tests that start it in a separate process. The bundle needs half the processor time of the sources to start,
// because it includes the dependencies. Its files have the same relative paths as in the package. The argument is the target folder, with a
// slash at its end. An existing folder is replaced.
import { cpSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundle, dependencies, packageFolder } from './bundle.js';

const folder = process.argv[2];

rmSync(folder, { recursive: true, force: true });
await bundle({
  outdir: `${folder}dist`,
  target: 'node24',
  external: ['pg-native', ...dependencies().optional],
  // The bundled CommonJS modules call require().
  banner: { js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);` },
});
// Without the type, Node would parse each module twice.
writeFileSync(`${folder}package.json`, '{ "type": "module" }\n');
symlinkSync(`${packageFolder}migrations`, `${folder}migrations`);
// scripts/build-portal.sh may replace the pages during the copy.
if (!copyPages()) {
  await sleep(500);
  if (!copyPages())
    process.stderr.write('The pages of the portal are not built, so tests of these pages fail. Run scripts/build-portal.sh.\n');
}

/** Copies the built pages of the portal. If files are missing, removes the copy and returns false. */
function copyPages() {
  try {
    cpSync(`${packageFolder}../portal/dist`, `${folder}portal`, { recursive: true });
    return true;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    rmSync(`${folder}portal`, { recursive: true, force: true });
    return false;
  }
}
