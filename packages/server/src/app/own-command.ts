/**
 * The command line of `countersign-server` in the folder where the server was started. A checkout has a script that needs no registry. An
 * installed package is found by npx; `--no` prevents npx from installing another package of this name.
 */
export const ownCommand: string = import.meta.url.endsWith('.ts') ? 'bin/countersign-server' : 'npx --no countersign-server';
