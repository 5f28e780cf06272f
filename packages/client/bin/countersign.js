#!/usr/bin/env node
// Runs the command: in the published package from the built JavaScript in dist/, in a checkout from the TypeScript sources. The sources
// need Node 24. If this Node is older, the Node 24 that npm installed in the checkout is used.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const builtMain = join(home, 'dist', 'cli', 'main.js');
const sourceMain = join(home, 'src', 'cli', 'main.ts');
const nodeMajor = Number(process.versions.node.split('.')[0]);

if (!existsSync(sourceMain)) await import(pathToFileURL(builtMain).href);
else if (nodeMajor >= 24) await import(pathToFileURL(sourceMain).href);
else {
  const modules = join(home, '..', '..', 'node_modules');
  const name =
    existsSync(modules) &&
    readdirSync(modules).find((folder) => folder.startsWith('node-') && existsSync(join(modules, folder, 'bin', 'node')));
  if (!name) {
    console.error('countersign: Node 24 is needed; run `npm run setup` in the checkout first');
    process.exit(3);
  }
  const child = spawn(join(modules, name, 'bin', 'node'), [sourceMain, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches both processes. A signal to this process alone is forwarded, and the child decides when to exit.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', ({ message }) => {
    console.error(`countersign: Node 24 of the checkout cannot be started: ${message}`);
    process.exit(3);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    // This process ends with the signal of the child. Without this removal, the listener above would catch the signal.
    process.exitCode = 3;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
