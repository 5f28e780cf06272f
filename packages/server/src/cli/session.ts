import type { Writable } from 'node:stream';
import { type OpenDatabase, type OpenMode, openDatabase } from '../app/open-database.ts';
import { type Config, readConfig } from '../config/config.ts';
import { describeBroken } from '../database/broken-seals.ts';
import { openCommandPool } from '../database/pools.ts';
import { requireSeals } from '../database/seals.ts';
import type { ExitReason } from '../errors/exit-codes.ts';
import { ExitError } from '../errors/exit-codes.ts';
import type { Tenant } from '../storage/tenants.ts';
import { findWorkspace } from '../workspace/find-workspace.ts';
import { type Column, oneLine, table } from './table.ts';

/** The output and the environment of a command. Tests replace them. */
export interface Terminal {
  out: Writable;
  err: Writable;
  /** Undefined for the environment of the process (config/config.ts reads it). */
  environment?: Readonly<Record<string, string | undefined>>;
}

/** The reader of standard output closed it (`| head`), so the command ends silently. */
export class OutputClosedError extends Error {
  override name = 'OutputClosedError';
}

/** The state of one command: its output, its configuration and its result. */
export class Session {
  /** The result if nothing is thrown: a reason, or the status of `serve`. */
  ending: ExitReason | number = 'ok';
  /** Whether output is for machines. */
  readonly json: boolean;
  readonly #terminal: Terminal;
  #config: Config | undefined;
  #hasReportedVariables = false;

  constructor(terminal: Terminal, json: boolean) {
    this.#terminal = terminal;
    this.json = json;
  }

  /** The configuration. It is read at the first use, so that `--help` works with an invalid environment. */
  get config(): Config {
    this.#config ??= this.#terminal.environment === undefined ? readConfig() : readConfig(this.#terminal.environment);
    return this.#config;
  }

  /** Writes a line for people to stderr; nothing with --json. */
  readonly say = (line: string): void => {
    if (!this.json) this.#terminal.err.write(line + '\n');
  };

  /** Whether stderr is a terminal. */
  get isTerminal(): boolean {
    return (this.#terminal.err as { isTTY?: boolean }).isTTY === true;
  }

  /** Writes text to stderr unchanged, also with --json. */
  sayRaw(text: string): void {
    this.#terminal.err.write(text);
  }

  /** Writes data to stdout. Resolves when the stream has accepted it, so that a slow reader slows the command down. */
  write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#terminal.out.write(data, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(outputError(error));
      });
    });
  }

  /** Writes the result: with --json the value, otherwise the text. An empty text is not written. */
  async writeResult(value: unknown, text: string): Promise<void> {
    const data = this.json ? JSON.stringify(value) : text;
    if (data !== '') await this.write(data + '\n');
  }

  /** Writes a list to stdout: as JSON, or as a table. For an empty list, writes `whenEmpty` to stderr instead of a table. */
  async list<Row>(rows: readonly Row[], whenEmpty: string, columns: readonly Column<Row>[]): Promise<void> {
    await this.writeResult(rows, rows.length === 0 ? '' : table(rows, columns));
    if (rows.length === 0) this.say(whenEmpty);
  }

  /**
   * Opens the configured database while `work` runs. In the mode `use` a database that does not exist is not created, so that a wrong
   * folder is noticed.
   */
  async withDatabase<T>(work: (database: OpenDatabase) => Promise<T>, mode: OpenMode = 'use'): Promise<T> {
    this.#sayUnknownVariables();
    const database = await openDatabase(this.config, this.say, mode, openCommandPool);
    requireSeals(database.pool).broken.listen((row) => this.say(oneLine(describeBroken(row))));
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  /** Reports unknown variables once, even if a command opens the database several times. */
  #sayUnknownVariables(): void {
    if (this.#hasReportedVariables) return;
    this.#hasReportedVariables = true;
    for (const name of this.config.unknownVariables) this.say(`unknown variable: ${name}; --help lists the known ones`);
  }

  /** Opens the database for one workspace, given by its ID, or by its name if that is unique. */
  withWorkspace<T>(given: string, work: (database: OpenDatabase, workspace: Tenant) => Promise<T>): Promise<T> {
    return this.withDatabase(async (database) => work(database, await findWorkspace(database.lookupPool, given)));
  }
}

function outputError(error: Error): Error {
  const { code } = error as { code?: string };
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosedError('standard output was closed');
  return new ExitError('wrong_use', `cannot write to standard output: ${error.message}`, { cause: error });
}
