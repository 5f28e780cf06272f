#!/usr/bin/env node
// The command. Packed, it runs the built JavaScript beside it. In a checkout it runs the TypeScript sources, which takes Node 24:
// where this Node is older, the one that npm installed in the checkout.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const built = join(home, 'dist', 'cli', 'main.js');
const source = join(home, 'src', 'cli', 'main.ts');
const major = Number(process.versions.node.split('.')[0]);

if (!existsSync(source)) await import(built);
else if (major >= 24) await import(source);
else {
  const modules = join(home, '..', '..', 'node_modules');
  const name =
    existsSync(modules) &&
    readdirSync(modules).find((folder) => folder.startsWith('node-') && existsSync(join(modules, folder, 'bin', 'node')));
  if (!name) {
    console.error('countersign: Node 24 is needed; run `npm run setup` in the checkout first');
    process.exit(3);
  }
  const child = spawn(join(modules, name, 'bin', 'node'), [source, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal signals both processes; a signal sent to this one alone is passed on, and the child decides when to end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 3)));
}
