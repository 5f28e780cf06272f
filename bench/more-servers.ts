import { dirname, join, resolve } from 'node:path';
import type { BenchEnvironment } from './environment.ts';
import { type MeasuredServer, startServer } from './measured-server.ts';

/** Several servers on one database. Disposing stops the servers that `startMoreServers` started. */
export interface Servers extends AsyncDisposable {
  ports: readonly number[];
}

/**
 * Starts further servers on the database of a test environment.
 * @param folder the checkout of the environment. The further servers run its code too.
 * @param count the number of servers in total, including the server of the environment.
 */
export async function startMoreServers(environment: BenchEnvironment, folder: string, count: number): Promise<Servers> {
  const result = await environment.superuser.query<{ data_directory: string }>('SHOW data_directory');
  // The data folder comes from PostgreSQL, because BenchEnvironment has no field for it.
  const dataDir = dirname(result.rows[0]!.data_directory);
  const settings = { COUNTERSIGN_DATA_DIR: dataDir, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'warn' };
  const furtherServers: MeasuredServer[] = [];
  const end = async () => {
    for (const server of furtherServers) await server.stop();
  };
  try {
    while (furtherServers.length < count - 1)
      furtherServers.push(await startServer(settings, undefined, join(resolve(folder), 'bench/serve.ts')));
  } catch (error) {
    await end();
    throw error;
  }
  return { ports: [environment.port, ...furtherServers.map(({ port }) => port)], [Symbol.asyncDispose]: end };
}
