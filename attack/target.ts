import type pg from 'pg';
import { residentBytes } from '../packages/server/test/fixtures/process-memory.ts';
import { DataFolder, ServerProcess } from '../packages/server/test/fixtures/server-process.ts';
import { type Address, freePort, requireLoopback } from './loopback.ts';
import { createWorkspace, queryFolder, type Workspace } from './workspaces.ts';

/** The attacked server: a real process on the embedded database, in a temporary folder. */
export class Target implements Address {
  readonly host: string;
  readonly port: number;
  readonly folder = DataFolder.migrated();
  readonly #environment: Record<string, string>;
  #server: ServerProcess | undefined;
  attacker!: Workspace;
  victim!: Workspace;

  private constructor(address: Address, settings: Record<string, string>) {
    this.host = address.host;
    this.port = address.port;
    const listen = { COUNTERSIGN_HOST: address.host, COUNTERSIGN_PORT: String(address.port) };
    this.#environment = { ...this.folder.environment, ...listen, ...settings };
  }

  /** Starts a server with two workspaces. */
  static async start(host: string, settings: Record<string, string> = {}): Promise<Target> {
    requireLoopback(host);
    const target = new Target({ host, port: await freePort(host) }, settings);
    try {
      await target.startProcess();
      target.attacker = await createWorkspace(target.folder, target.url, 'attacker');
      target.victim = await createWorkspace(target.folder, target.url, 'victim');
      return target;
    } catch (error) {
      await target.end();
      throw error;
    }
  }

  get url(): string {
    return `http://${this.host}:${this.port}`;
  }

  get isAlive(): boolean {
    return this.#server?.hasEnded === false;
  }

  get pid(): number {
    return this.#server!.pid;
  }

  /** The log lines of level error of the current server process. */
  get errorLogLines(): string[] {
    return this.#server?.errorLogLines ?? [];
  }

  residentBytes(): number {
    return residentBytes(this.pid);
  }

  /** The value of a metric, summed over the series whose line in /metrics matches. Metrics are up to a second old. */
  async metric(name: string, matching = /(?:)/): Promise<number> {
    const response = await fetch(`${this.url}/metrics`);
    const text = await response.text();
    if (!response.ok) throw new Error(`/metrics returned status ${response.status}`);
    if (!text.includes(`# TYPE ${name} `)) throw new Error(`/metrics does not contain ${name}`);
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(name) && /[ {]/.test(line[name.length]!) && matching.test(line));
    return lines.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** Starts the server process, for the first time or after a kill. */
  async startProcess(): Promise<void> {
    // The start is detected by the log line `ready`, which has the level info.
    this.#server = await ServerProcess.start({ ...this.#environment, COUNTERSIGN_LOG_LEVEL: 'info' });
  }

  /** Kills the server process with SIGKILL, and waits until it has exited. */
  async kill(): Promise<void> {
    await this.#server!.end('SIGKILL');
  }

  /** The environment variables with which commands find the data. */
  get environment(): Record<string, string> {
    return this.folder.environment;
  }

  /** Queries the database as superuser, which bypasses row-level security. */
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    return queryFolder<Row>(this.folder, text, values);
  }

  /** Stops the server and the database, and deletes the data. */
  async end(): Promise<void> {
    if (this.isAlive) {
      const killTimer = setTimeout(() => this.#server!.child.kill('SIGKILL'), 20_000);
      await this.#server!.end('SIGTERM');
      clearTimeout(killTimer);
    }
    await this.folder.clear();
  }
}
