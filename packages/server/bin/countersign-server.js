#!/usr/bin/env node
// Runs the command of the server: the built JavaScript in a package, and the TypeScript sources in a checkout. The sources need Node 24.
// If the current Node is older, this starts the Node that npm installed in the checkout.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const built = join(home, 'dist', 'main.js');
const source = join(home, 'src', 'main.ts');
const major = Number(process.versions.node.split('.')[0]);

if (!existsSync(source)) await import(pathToFileURL(built).href);
else if (major >= 24) await import(pathToFileURL(source).href);
else {
  const modules = join(home, '..', '..', 'node_modules');
  const name =
    existsSync(modules) &&
    readdirSync(modules).find((folder) => folder.startsWith('node-') && existsSync(join(modules, folder, 'bin', 'node')));
  if (!name) {
    console.error('countersign-server: Node 24 is needed; run `npm run setup` in the checkout first');
    process.exit(70);
  }
  const child = spawn(join(modules, name, 'bin', 'node'), [source, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Forwards signals, because `kill` may reach only this process. Ctrl-C reaches both, so the child gets it twice, which changes nothing.
  // The child decides when to exit.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    // Ends this process by the signal that ended the child. The listener above would catch that signal, so it is removed. The exit code
    // applies if the signal does not end this process.
    process.exitCode = 70;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
