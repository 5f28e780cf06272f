// Builds the server for tests that start it in a process of its own: it starts in half the processor time of the sources, because its
// dependencies are bundled in too. The layout is that of the package. Prints the path of main.js.
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { bundle, dependencies, home } from './bundle.js';

// In node_modules, because the embedded PostgreSQL is looked for from here.
const folder = `${home}node_modules/.cache/server-for-tests/`;

rmSync(folder, { recursive: true, force: true });
await bundle({
  outdir: `${folder}dist`,
  target: 'node24',
  external: ['pg-native', ...dependencies().optional],
  // The bundled CommonJS modules call require().
  banner: { js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);` },
});
symlinkSync(`${home}migrations`, `${folder}migrations`);
cpSync(`${home}../portal/dist`, `${folder}portal`, { recursive: true });
process.stdout.write(`${folder}dist/main.js`);
