// Builds dist/: JavaScript as ES modules and CommonJS, declarations for both, and the command. Also writes the files of licenses. Called
// by `npm pack` (prepack). All dependencies are bundled, so the package has none.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { declarations } from './declarations.js';

const home = fileURLToPath(new URL('../', import.meta.url));

/** One file of each bundled package, to find the license of that package. Each license must be published with the client. */
const BUNDLED_FILES = ['@noble/ed25519', '@noble/hashes/utils.js', '@rgrove/parse-xml', 'fzstd'];

rmSync(`${home}dist`, { recursive: true, force: true });
const shared = { absWorkingDir: home, bundle: true, target: 'es2022', logLevel: 'warning' };
await Promise.all([
  build({ ...shared, entryPoints: ['src/index.ts'], outfile: 'dist/esm/index.js', format: 'esm', platform: 'neutral' }),
  build({ ...shared, entryPoints: ['src/index.ts'], outfile: 'dist/cjs/index.js', format: 'cjs', platform: 'neutral' }),
  build({ ...shared, entryPoints: ['src/cli/main.ts'], outfile: 'dist/cli/main.js', format: 'esm', platform: 'node' }),
]);
// Without this file, Node and TypeScript would read the CommonJS files as ES modules, because the package has the type `module`.
writeFileSync(`${home}dist/cjs/package.json`, '{ "type": "commonjs" }\n');

for (const [path, text] of declarations(home)) {
  for (const format of ['esm', 'cjs']) {
    const target = `${home}dist/${format}/${path}`;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

copyFileSync(`${home}../../LICENSE`, `${home}LICENSE`);
const licenses = BUNDLED_FILES.map((file) => {
  const folder = packageFolderOf(fileURLToPath(import.meta.resolve(file)));
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  return `${name} ${version}\n\n${readFileSync(`${folder}/LICENSE`, 'utf8')}`;
});
writeFileSync(`${home}THIRD-PARTY-LICENSES`, licenses.join('\n'));

/** The folder of the package that a file belongs to: the nearest folder above the file whose package.json has a version. */
function packageFolderOf(path) {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = `${folder}/package.json`;
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version !== undefined) return folder;
  }
  throw new Error(`${path} belongs to no package`);
}
