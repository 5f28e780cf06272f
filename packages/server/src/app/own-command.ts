/**
 * How a person runs this command from the folder that the server was started in. A checkout has a script that asks no registry; an installed
 * package is found by npx, and `--no` keeps npx from installing another package of this name.
 */
export const ownCommand: string = import.meta.url.endsWith('.ts') ? 'bin/countersign-server' : 'npx --no countersign-server';
