import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogName } from '../../src/storage/log-heads.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { afterFile } from '../harness/after-file.ts';
import { runVerifier } from '../harness/independent-verifier.ts';
import { reseal } from '../harness/sealed.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { Insider } from './insider.ts';

/** The exit code and the output of a tool: a command, or the Python verifier. */
export interface ToolResult {
  status: number;
  output: string;
}

/**
 * A check of one log. `workspace` checks its database rows, and `workspaceWithKeptCheckpoints` also compares them with kept checkpoints.
 * `file` compares an export with kept checkpoints, and `python` does the same with the Python verifier.
 */
export type Check = (typeof CHECKS)[number];
/** All checks of a log. For the key audit trail, only `workspace` and `workspaceWithKeptCheckpoints` apply. */
export const CHECKS = ['workspace', 'workspaceWithKeptCheckpoints', 'file', 'python'] as const;

/** Number of ledger rows when the first and the second checkpoints were kept. */
export const ROWS = { first: 120, second: 330 } as const;

/**
 * A server with two workspaces, their ledgers, decisions and key events. An auditor kept checkpoints of the logs of the first workspace.
 */
export class LedgerUnderAttack {
  readonly #firstServer: TestServer;
  #server: TestServer;
  /** Whether rows or seals were replaced since the server started, so that it may remember heads that are no longer stored. */
  #isStale = false;
  readonly folder: string;
  readonly environment: Record<string, string>;
  tenantId = '';
  otherId = '';
  /** The ID of the first decision that allowed a promotion in the first workspace. */
  allowedId = '';
  insider!: Insider;
  key = '';

  private constructor(server: TestServer, folder: string) {
    this.#firstServer = server;
    this.#server = server;
    this.folder = folder;
    this.environment = environmentOf(server);
  }

  /** Fills the workspaces, and keeps two checkpoints of each of the logs audit, decisions and keys of the first workspace. */
  static async make(): Promise<LedgerUnderAttack> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-attack-'));
    const scenario = new LedgerUnderAttack(await testServer({ checkpointSeconds: undefined }), folder);
    afterFile(async () => {
      await scenario.insider?.close();
      rmSync(folder, { recursive: true });
    });
    await scenario.#fill();
    scenario.insider = await Insider.open(scenario.#server.database);
    return scenario;
  }

  async #fill(): Promise<void> {
    const server = this.#server;
    [this.tenantId, this.otherId] = [await server.workspace('victim'), await server.workspace('other')];
    [this.key] = [await server.key(this.tenantId), await server.key(this.tenantId), await server.key(this.tenantId)];
    const other = await server.key(this.otherId);
    await server.post(paths.evaluations, this.key, { name: 'nightly', agent_name: 'bot', pass_rate: 95 });
    await this.append(this.key, ROWS.first - 3);
    await this.#decide(this.key, 3);
    await this.#keep('first');
    await this.append(this.key, ROWS.second - ROWS.first - 3);
    await this.#decide(this.key, 3);
    await server.key(this.tenantId);
    await this.#keep('second');
    await this.append(other, ROWS.second - 2);
    await this.#decide(other, 1);
    writeFileSync(this.auditorFile('vkey'), (await this.run('signing-key', 'show', '--vkey')).output);
  }

  /** Appends rows to a ledger, with up to ten concurrent requests. */
  async append(key: string, count: number): Promise<void> {
    const server = await this.server();
    for (let done = 0; done < count; done += 10)
      await Promise.all(
        Array.from({ length: Math.min(10, count - done) }, async (_, index) => {
          const { status } = await server.post(paths.audit, key, {
            actor: 'ci:deploy',
            action: 'agent.deployed',
            subject: 'bot',
            rationale: 'tests passed',
            framework: 'EU AI Act',
            trace_id: `run-${done + index}`,
            retention_until: '2036-01-01',
            metadata: { place: done + index, owner: 'ops' },
          });
          if (status !== 200) throw new Error(`an append got status ${status}`);
        }),
      );
  }

  /** Makes pairs of decisions. The first decision of a pair allows. The second one blocks and is also written to the ledger. */
  async #decide(key: string, pairs: number): Promise<void> {
    for (let pair = 0; pair < pairs; pair += 1) {
      const { body } = await this.#server.post(paths.promotionCheck, key, { agent_name: 'bot', min_pass_rate: 80 });
      if (key === this.key) this.allowedId ||= body.decision_id;
      await this.#server.post(paths.promotionCheck, key, { agent_name: 'bot', min_pass_rate: 99 });
    }
  }

  async #keep(name: 'first' | 'second'): Promise<void> {
    for (const log of ['audit', 'decisions', 'keys'])
      writeFileSync(
        this.auditorFile(`${name}-${log}`),
        (await this.run('ledger', 'checkpoint', '--workspace', 'victim', '--log', log)).output,
      );
  }

  /** Restores the saved rows for the next attack. */
  async undo(): Promise<void> {
    await this.insider.undo();
    this.#isStale = true;
  }

  /** Seals the current heads with the master secret. The next call of `server` starts a server that has not seen the earlier heads. */
  async resealWithSecret(): Promise<void> {
    await reseal(this.#server.open.pool, this.tenantId);
    this.#isStale = true;
  }

  /** Returns the server. If rows or seals were replaced since it started, starts a new server, which remembers no heads. */
  async server(): Promise<TestServer> {
    if (this.#isStale) {
      const { database } = this.#server;
      // The first server is not stopped, because stopping it drops the database.
      if (this.#server !== this.#firstServer) await this.#server.stop();
      this.#server = await testServer({ checkpointSeconds: undefined, database });
      this.#isStale = false;
    }
    return this.#server;
  }

  /** The path of a file in the auditor's folder. */
  auditorFile(name: string): string {
    return join(this.folder, name);
  }

  /** The options for all kept checkpoints of a log, and the public key. */
  keptCheckpointOptions(log: LogName): string[] {
    const files = [this.auditorFile(`first-${log}`), this.auditorFile(`second-${log}`)];
    return [...files.flatMap((file) => ['--checkpoint', file]), '--key', this.auditorFile('vkey')];
  }

  /** Runs a command. Returns its exit code and what it wrote to stdout, or to stderr if stdout is empty. */
  async run(...args: string[]): Promise<ToolResult> {
    const { status, out, err } = await runCommand(this.environment, ...args);
    return { status, output: out || err };
  }

  /** Runs the checks `names` of a log of the first workspace. The export of the key audit trail cannot be checked here. */
  async runChecks<Name extends Check>(log: LogName, ...names: Name[]): Promise<Record<Name, ToolResult>> {
    const verify = ['ledger', 'verify', '--log', log];
    const file = this.auditorFile(`${log}.ndjson`);
    const checks: Record<Check, () => Promise<ToolResult>> = {
      workspace: () => this.run(...verify, '--workspace', 'victim'),
      workspaceWithKeptCheckpoints: () => this.run(...verify, '--workspace', 'victim', ...this.keptCheckpointOptions(log)),
      file: () => this.run(...verify, '--file', file, ...this.keptCheckpointOptions(log)),
      python: () => this.python(log === 'audit' ? 'ledger' : 'decisions', file, ...this.keptCheckpointOptions(log)),
    };
    if (names.some((name) => name === 'file' || name === 'python'))
      await this.run('ledger', 'export', '--workspace', 'victim', '--log', log, '--output', file);
    const results: Partial<Record<Name, ToolResult>> = {};
    for (const name of names) results[name] = await checks[name]();
    return results as Record<Name, ToolResult>;
  }

  /** Runs one check of a log of the first workspace. */
  async runCheck(log: LogName, name: Check): Promise<ToolResult> {
    return (await this.runChecks(log, name))[name];
  }

  /** Runs a command of the independent verifier. */
  async python(command: string, file: string, ...options: string[]): Promise<ToolResult> {
    const { status, out, err } = await runVerifier([command, file, ...options]);
    return { status, output: out || err };
  }
}
