// Builds dist/: JavaScript as ES modules and CommonJS, declarations for both, and the command. Called by `npm pack` (prepack).
// Everything is bundled in; what is packed has no dependencies.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { declarations } from './declarations.js';

const home = fileURLToPath(new URL('../', import.meta.url));

/** Packages whose code is bundled in, by a file at their root: their licence asks to be passed on. */
const BUNDLED = { '@noble/ed25519': 'index.js', '@noble/hashes': 'utils.js', '@rgrove/parse-xml': 'package.json' };

rmSync(`${home}dist`, { recursive: true, force: true });
const usual = { absWorkingDir: home, bundle: true, target: 'es2022', logLevel: 'warning' };
await Promise.all([
  build({ ...usual, entryPoints: ['src/index.ts'], outfile: 'dist/esm/index.js', format: 'esm', platform: 'neutral' }),
  build({ ...usual, entryPoints: ['src/index.ts'], outfile: 'dist/cjs/index.js', format: 'cjs', platform: 'neutral' }),
  build({ ...usual, entryPoints: ['src/cli/main.ts'], outfile: 'dist/cli/main.js', format: 'esm', platform: 'node' }),
]);
// Without it Node and TypeScript would read the CommonJS files as ES modules, which the package is by default.
writeFileSync(`${home}dist/cjs/package.json`, '{ "type": "commonjs" }\n');

for (const [path, text] of declarations(home)) {
  for (const format of ['esm', 'cjs']) {
    const target = `${home}dist/${format}/${path}`;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

copyFileSync(`${home}../../LICENSE`, `${home}LICENSE`);
const licences = Object.entries(BUNDLED).map(([name, file]) => {
  const folder = dirname(fileURLToPath(import.meta.resolve(`${name}/${file}`)));
  return `${name} ${JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).version}\n\n${readFileSync(`${folder}/LICENSE`, 'utf8')}`;
});
writeFileSync(`${home}THIRD-PARTY-LICENSES`, licences.join('\n'));
