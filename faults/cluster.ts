import type pg from 'pg';
import { type Address, freePort, requireLoopback } from '../attack/loopback.ts';
import { createWorkspace, queryFolder, type Workspace } from '../attack/workspaces.ts';
import { killAll, LIST_EVERY_MS, processesOf, signalAll, until } from '../packages/embedded-database/test/harness/processes.ts';
import type { Environment } from '../packages/server/test/fixtures/process-environment.ts';
import { residentBytes } from '../packages/server/test/fixtures/process-memory.ts';
import { DataFolder, ServerProcess } from '../packages/server/test/fixtures/server-process.ts';
import { CitusDatabase } from './citus-database.ts';
import { RoundRobinProxy } from './round-robin-proxy.ts';

const HOST = '127.0.0.1';

/** Options of a cluster. */
export interface ClusterOptions {
  /** The number of servers. */
  servers: number;
  /** Settings of the servers. */
  settings?: Record<string, string>;
  /** The largest number of open files of each server. */
  openFilesMax?: number;
  /** Whether the servers use a Citus cluster instead of the embedded database. */
  onCitus?: boolean;
  /** A folder for the data, which the caller removes. Undefined: a temporary folder. */
  dataDir?: string;
}

/** A server of a cluster. Its address stays the same when it is started again. */
class ClusterServer implements Address {
  readonly host = HOST;
  readonly port: number;
  process: ServerProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  get url(): string {
    return `http://${this.host}:${this.port}`;
  }
}

/** Server processes behind a proxy, on one database: the embedded one or Citus. */
export class Cluster {
  static readonly #started = new Set<Cluster>();
  readonly folder: DataFolder;
  readonly servers: readonly ClusterServer[];
  readonly #options: ClusterOptions;
  /** The log lines of level error of killed servers. */
  readonly #earlierErrorLogLines: string[] = [];
  #citus: CitusDatabase | undefined;
  proxy!: RoundRobinProxy;
  /** The workspace that the senders write to. */
  victim!: Workspace;

  private constructor(servers: readonly ClusterServer[], options: ClusterOptions) {
    this.servers = servers;
    this.#options = options;
    this.folder = options.dataDir === undefined ? DataFolder.migrated() : new DataFolder(options.dataDir);
    Cluster.#started.add(this);
  }

  /** Ends all clusters that still run, after an interruption or an error of the command. */
  static async endAll(): Promise<void> {
    await Promise.all([...Cluster.#started].map((cluster) => cluster.end()));
  }

  /** Starts the database, the proxy and the servers, and creates a workspace. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    requireLoopback(HOST);
    const servers: ClusterServer[] = [];
    for (let count = 0; count < options.servers; count += 1) servers.push(new ClusterServer(await freePort(HOST)));
    const cluster = new Cluster(servers, options);
    try {
      if (options.onCitus === true) cluster.#citus = await CitusDatabase.start();
      cluster.proxy = await RoundRobinProxy.start(HOST, servers);
      for (const server of servers) await cluster.startServer(server);
      cluster.victim = await createWorkspace(cluster, servers[0]!.url, 'victim');
      return cluster;
    } catch (error) {
      await cluster.end();
      throw error;
    }
  }

  /** The environment variables with which servers and commands find the data. */
  get environment(): Environment {
    return { ...this.folder.environment, ...this.#citus?.environment };
  }

  /** The servers that run now. */
  get running(): ClusterServer[] {
    return this.servers.filter(({ process }) => process?.hasEnded === false);
  }

  /** The log lines of level error of all servers, including killed ones. */
  get errorLogLines(): string[] {
    return [...this.#earlierErrorLogLines, ...this.servers.flatMap(({ process }) => process?.errorLogLines ?? [])];
  }

  /** The largest resident size of the running servers, in bytes; 0 if no server is running. */
  residentBytes(): number {
    return Math.max(0, ...this.running.map(({ process }) => residentBytes(process!.pid)));
  }

  /** Starts a server, for the first time or after a kill. */
  async startServer(server: ClusterServer): Promise<void> {
    const { settings = {}, openFilesMax } = this.#options;
    const listen = { COUNTERSIGN_HOST: server.host, COUNTERSIGN_PORT: String(server.port) };
    server.process = await ServerProcess.start({ ...this.environment, ...settings, ...listen }, { openFilesMax });
  }

  /**
   * Kills servers with SIGKILL, all at once. Returns when they have exited.
   * @param killsDatabase whether PostgreSQL is killed too. On Citus, one node is killed after the servers and started again.
   */
  async kill(servers: readonly ClusterServer[], killsDatabase = false): Promise<void> {
    const pids = servers.map(({ process }) => process!.pid);
    const postmasters = killsDatabase && this.#citus === undefined ? [this.folder.postmaster()] : [];
    killAll(...[...postmasters, ...pids].map((pid) => ({ pid })));
    if (killsDatabase) await this.#citus?.crash();
    for (const server of servers) {
      await server.process!.ended;
      this.#earlierErrorLogLines.push(...server.process!.errorLogLines);
      server.process = undefined;
    }
  }

  /** Kills all servers and all processes of the embedded database, as when the machine loses power. */
  async killEverything(): Promise<void> {
    const { keepers, postmasters, watchdogs } = processesOf(this.folder.path);
    const backends = this.folder.backends().map((pid) => ({ pid }));
    const servers = this.running.map(({ process }) => ({ pid: process!.pid }));
    killAll(...servers, ...keepers, ...postmasters, ...watchdogs, ...backends);
    await this.kill(this.running);
    await until('nothing runs', () => this.folder.isStopped(), LIST_EVERY_MS);
  }

  /** Sends a signal to all processes of PostgreSQL. */
  signalDatabase(signal: 'SIGSTOP' | 'SIGCONT'): void {
    signalAll(signal, [this.folder.postmaster(), ...this.folder.backends()]);
  }

  /** Queries the database as superuser. */
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    return this.#citus?.query<Row>(text, values) ?? queryFolder<Row>(this.folder, text, values);
  }

  /** Stops all processes and deletes the data. Leaves a `dataDir` of the caller, and the nodes of CITUS_NODES with their data. */
  async end(): Promise<void> {
    this.proxy?.close();
    await Promise.all(
      this.running.map(async ({ process }) => {
        const killTimer = setTimeout(() => process!.child.kill('SIGKILL'), 20_000);
        await process!.end('SIGTERM');
        clearTimeout(killTimer);
      }),
    );
    try {
      await this.folder.clear();
    } finally {
      await this.#citus?.stop();
      Cluster.#started.delete(this);
    }
  }
}
