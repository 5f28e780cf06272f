import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../attack/loopback.ts';
import {
  type Account,
  currentAccount,
  runAs,
  unprivilegedAccount,
} from '../../packages/embedded-database/src/database-account.ts';
import { postgresEnvironment } from '../../packages/embedded-database/src/postgres-settings.ts';
import { childrenOf, isAlive, killAll, until } from '../../packages/embedded-database/test/harness/processes.ts';
import { type PostgresPrograms, postgresWithCitus } from './postgres-with-citus.ts';

/** The address and the superuser of a PostgreSQL with Citus. */
export interface CitusNode {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
}

/** The nodes of a cluster. */
export interface CitusNodes {
  readonly coordinator: CitusNode;
  readonly workers: readonly CitusNode[];
  /** The process ID of a node that was started here; undefined for a node of CITUS_NODES. */
  pidOf(node: CitusNode): number | undefined;
  /** Kills all processes of a node and starts it again. Only for nodes that were started here. */
  crash(node: CitusNode): Promise<void>;
  /** Ends the processes that were started here and removes their files. Nodes of CITUS_NODES continue to run. */
  stop(): Promise<void>;
}

/**
 * The settings of each node, for tests and measurements: three nodes share a machine, and each database has a maintenance process of Citus
 * on each node.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_preload_libraries: 'citus',
  max_connections: '300',
  max_worker_processes: '80',
  max_prepared_transactions: '300',
  wal_level: 'logical', // lets citus_move_shard_placement run without blocking writes
  max_wal_size: '2GB',
  jit: 'off',
  'citus.node_conninfo': 'sslmode=disable', // the nodes are on loopback
  'citus.shard_count': '4',
};

const NODE_NAMES = ['coordinator', 'worker-1', 'worker-2'];

/**
 * The nodes of CITUS_NODES, or a coordinator and two workers that are started on loopback, with files in a temporary folder.
 * @param settings settings of PostgreSQL for the nodes that are started.
 */
export async function openCitusNodes(settings: Record<string, string> = {}): Promise<CitusNodes> {
  const urls = process.env.CITUS_NODES;
  return urls === undefined ? startNodes(postgresWithCitus(), { ...SETTINGS, ...settings }) : nodesByAddress(urls);
}

/** @param urls the value of CITUS_NODES: URLs separated by commas, the coordinator's URL first. */
export function nodesByAddress(urls: string): CitusNodes {
  const [coordinator, ...workers] = urls.split(',').map((text) => {
    const { hostname, port, username, password } = nodeUrl(text.trim());
    return {
      host: hostname,
      port: Number(port || 5432),
      user: decodeURIComponent(username),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    };
  });
  if (coordinator === undefined || workers.length === 0)
    throw new Error('CITUS_NODES must have the URLs of a coordinator and at least one worker, separated by commas');
  const crash = () => Promise.reject(new Error('only nodes that this process started can be killed'));
  return { coordinator, workers, pidOf: () => undefined, crash, stop: async () => undefined };
}

function nodeUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || url.hostname === '')
    throw new Error('CITUS_NODES: an address is not a URL of the form postgres://USER@HOST:PORT');
  return url;
}

async function startNodes(programs: PostgresPrograms, settings: Record<string, string>): Promise<CitusNodes> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-citus-')));
  chmodSync(folder, 0o755);
  const account = process.geteuid?.() === 0 ? unprivilegedAccount() : currentAccount();
  const startedNodes: StartedNode[] = [];
  // Also ends the nodes if this process exits without `stop`. SIGQUIT shuts them down immediately, because the data is not used again.
  process.once('exit', () => {
    for (const { child } of startedNodes) child.kill('SIGQUIT');
  });
  const stop = async () => {
    await Promise.all(startedNodes.map(({ child }) => endProcess(child)));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [coordinator, ...workers] = await Promise.all(
      NODE_NAMES.map(async (name) => {
        const node = await StartedNode.create(programs, account, join(folder, name), settings);
        startedNodes.push(node);
        await node.untilReady();
        return node.address;
      }),
    );
    const startedNode = (node: CitusNode) => startedNodes.find(({ address }) => address.port === node.port)!;
    const pidOf = (node: CitusNode) => startedNode(node).child.pid;
    const crash = (node: CitusNode) => startedNode(node).crash();
    return { coordinator: coordinator!, workers, pidOf, crash, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A node that was started here. */
class StartedNode {
  readonly address: CitusNode;
  child: ChildProcess;
  readonly #log: string;
  readonly #start: () => ChildProcess;

  private constructor(address: CitusNode, log: string, start: () => ChildProcess) {
    this.address = address;
    this.#log = log;
    this.#start = start;
    this.child = start();
  }

  static async create(
    { initdb, postgres }: PostgresPrograms,
    account: Account,
    folder: string,
    settings: Record<string, string>,
  ): Promise<StartedNode> {
    mkdirSync(folder, { mode: 0o700 });
    if (process.geteuid?.() === 0) chownSync(folder, account.uid, account.gid);
    const options = { ...runAs(account), cwd: '/', env: postgresEnvironment, encoding: 'utf8' } as const;
    const data = join(folder, 'data');
    const initdbResult = spawnSync(
      initdb,
      ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
      options,
    );
    if (initdbResult.status !== 0) throw new Error(`initdb failed: ${initdbResult.stderr}`);
    const port = await freePort('127.0.0.1');
    const log = join(folder, 'log');
    const args = Object.entries({ ...settings, port: String(port) }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return new StartedNode({ host: '127.0.0.1', port, user: 'postgres' }, log, () =>
      spawn(postgres, ['-D', data, ...args], { ...options, stdio: ['ignore', 'ignore', openSync(log, 'a')] }),
    );
  }

  /** Waits until the node accepts connections. Throws an error with the node's log if the node ends first, or after about 30 seconds. */
  async untilReady(): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await runOnNode(this.address, 'postgres', (client) => client.query('SELECT 1'));
        return;
      } catch (error) {
        if (attempt > 300 || this.child.exitCode !== null || this.child.signalCode !== null)
          throw new Error(`a node did not start: ${readFileSync(this.#log, 'utf8')}`, { cause: error });
        await sleep(100);
      }
    }
  }

  /** Kills all processes of the node and starts it again. Returns when it accepts connections. */
  async crash(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    const pids = [this.child.pid!, ...childrenOf(this.child.pid!)];
    killAll(...pids.map((pid) => ({ pid })));
    await ended;
    await until('the processes of the node are gone', () => !pids.some(isAlive));
    this.child = this.#start();
    await this.untilReady();
  }
}

/** Stops a node with SIGINT, which is a fast shutdown: connections are closed, and data is written. */
async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  await ended;
}

/** Runs work with a connection to a database of a node, as the superuser of the node. */
export async function runOnNode<T>(node: CitusNode, database: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...node, database });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
