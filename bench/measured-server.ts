import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A running server process of the benchmark (serve.ts). */
export interface MeasuredServer {
  port: number;
  /** The largest resident size of the process since its start; its current size if the kernel does not record the largest. */
  peakBytes(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts a server process and waits until it listens.
 * @param profileFolder where the server writes its CPU profile. Undefined: no profile.
 * @param file the path of serve.ts in a checkout. The default is the file of this checkout.
 */
export async function startServer(
  environment: Record<string, string>,
  profileFolder: string | undefined,
  file = fileURLToPath(new URL('serve.ts', import.meta.url)),
): Promise<MeasuredServer> {
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  // Uses the Node flags of this process. scripts/run.sh sets the same flags for `npm start`.
  const server = spawn(process.execPath, [...process.execArgv, ...profiling, file], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const { ready: port } = await waitForMessage<{ ready: number }>(server);
    return {
      port,
      peakBytes: async () => {
        server.send('peak');
        return (await waitForMessage<{ peakBytes: number }>(server)).peakBytes;
      },
      stop: () => stop(server),
    };
  } catch (error) {
    await stop(server);
    throw error;
  }
}

/** Waits for the server's next message. Throws if the server ends first. */
async function waitForMessage<M>(server: ChildProcess): Promise<M> {
  const ended = once(server, 'exit').then(([code, signal]) => {
    throw new Error(`the measured server ended with ${code === null ? signal : `exit code ${code}`}`);
  });
  ended.catch(() => undefined);
  const [received] = await Promise.race([once(server, 'message'), ended]);
  return received as M;
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}
