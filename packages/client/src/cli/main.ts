import { runCommandLine } from './command-line.ts';

// A reader such as `| head` may close the stream early. Without a listener, the resulting error would change the exit status.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
process.exitCode = await runCommandLine(process.argv.slice(2));
