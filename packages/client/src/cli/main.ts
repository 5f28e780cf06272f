import { runCommandLine } from './command-line.ts';

// Whoever closed a stream (`| head`) has stopped listening; without a listener the error would end the process with another status.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
process.exitCode = await runCommandLine(process.argv.slice(2));
