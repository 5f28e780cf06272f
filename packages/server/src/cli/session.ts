import type { Writable } from 'node:stream';
import { type OpenDatabase, type Opening, openDatabase } from '../app/open-database.ts';
import { type Config, readConfig } from '../config/config.ts';
import { describeBroken } from '../database/broken-seals.ts';
import { requireSeals } from '../database/seals.ts';
import type { ExitReason } from '../errors/exit-codes.ts';
import { ExitError } from '../errors/exit-codes.ts';
import type { Tenant } from '../storage/tenants.ts';
import { findWorkspace } from '../workspace/find-workspace.ts';
import { type Column, oneLine, table } from './table.ts';

/** Where a command's output goes and what it is configured by; the process's own unless a test says otherwise. */
export interface Terminal {
  out: Writable;
  err: Writable;
  /** Undefined for the process's own (config/config.ts reads it). */
  environment?: Readonly<Record<string, string | undefined>>;
}

/** The reader of the standard output went away (`| head`): there is nobody to tell, so the command ends quietly. */
export class OutputClosed extends Error {
  override name = 'OutputClosed';
}

/** One run of the command line: what its commands share. */
export class Session {
  /** How it ends when nothing is thrown: a reason, or the status that `serve` gave. */
  ending: ExitReason | number = 'ok';
  /** Whether output is for machines. */
  readonly json: boolean;
  readonly #terminal: Terminal;
  #config: Config | undefined;
  #hasOpened = false;

  constructor(terminal: Terminal, json: boolean) {
    this.#terminal = terminal;
    this.json = json;
  }

  /** Read at the first use, so that `--help` works whatever the environment holds. */
  get config(): Config {
    this.#config ??= this.#terminal.environment === undefined ? readConfig() : readConfig(this.#terminal.environment);
    return this.#config;
  }

  /** A line for people, on stderr. With --json nothing but an error stands there. */
  readonly say = (line: string): void => {
    if (!this.json) this.#terminal.err.write(line + '\n');
  };

  /** Whether people read stderr as it comes. */
  get isTerminal(): boolean {
    return (this.#terminal.err as { isTTY?: boolean }).isTTY === true;
  }

  /** A piece of a line on stderr, as it is. */
  sayRaw(text: string): void {
    this.#terminal.err.write(text);
  }

  /** Data, on stdout. Resolves when it was taken, which is the back-pressure. */
  write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#terminal.out.write(data, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(outputError(error));
      });
    });
  }

  /** The command's answer: a JSON value for machines, or text for people. */
  async answer(value: unknown, text: string): Promise<void> {
    const data = this.json ? JSON.stringify(value) : text;
    if (data !== '') await this.write(data + '\n');
  }

  /** A list: all of it for machines, a table for people; `whenEmpty` tells them that there is nothing and what to do. */
  async list<Row>(rows: readonly Row[], whenEmpty: string, columns: readonly Column<Row>[]): Promise<void> {
    await this.answer(rows, rows.length === 0 ? '' : table(rows, columns));
    if (rows.length === 0) this.say(whenEmpty);
  }

  /** Opens the configured database for the time of `work`. Only what says so makes one: in a wrong folder the others must not. */
  async withDatabase<T>(work: (database: OpenDatabase) => Promise<T>, opening: Opening = 'use'): Promise<T> {
    this.#sayUnknownVariables();
    const database = await openDatabase(this.config, this.say, opening);
    requireSeals(database.pool).broken.listen((row) => this.say(oneLine(describeBroken(row))));
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  /** Once, however often a command opens the database. */
  #sayUnknownVariables(): void {
    if (this.#hasOpened) return;
    this.#hasOpened = true;
    for (const name of this.config.unknownVariables) this.say(`no such variable: ${name}; --help names those there are`);
  }

  /** Opens the database for work on one workspace, given by its ID, or by its name where no other workspace has the same name. */
  withWorkspace<T>(given: string, work: (database: OpenDatabase, workspace: Tenant) => Promise<T>): Promise<T> {
    return this.withDatabase(async (database) => work(database, await findWorkspace(database.pool, given)));
  }
}

function outputError(error: Error): Error {
  const { code } = error as { code?: string };
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new OutputClosed('standard output was closed');
  return new ExitError('wrong_use', `cannot write to standard output: ${error.message}`, { cause: error });
}
