import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { Countersign, CountersignError, type FetchLike } from '../index.ts';
import { wrongUse } from './exit-codes.ts';
import { readDuration } from './option-values.ts';
import { oneLine } from './plain-text.ts';
import { Redaction } from './redaction.ts';
import { similarNameLines } from './similar-name.ts';
import type { Terminal } from './terminal.ts';

/** The options for reaching the service. */
export interface ConnectionOptions {
  url?: string | undefined;
  'key-stdin'?: boolean | undefined;
  timeout?: string | undefined;
  'insecure-http'?: boolean | undefined;
}

/** An address with a query, a fragment, or a user in front of the host. Each of them may be a secret. The scheme may be missing. */
const MAY_CONTAIN_SECRET = /[?#]|^([a-z][a-z0-9+.-]*:)?[\\/]*[^\\/]*@/i;

/** Milliseconds for one call with its retries, if --timeout is not given. */
const TIMEOUT_MS_DEFAULT = 30_000;

/** The state and the functions that the commands share during one run. All output is redacted. */
export class Session {
  readonly terminal: Terminal;
  readonly redaction = new Redaction();
  json = false;
  debug = false;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  /** Writes data to stdout. */
  write(text: string): void {
    this.terminal.out(this.redaction.apply(text));
  }

  /** Writes a line for people to stderr, but not with --json. */
  say(line: string): void {
    if (!this.json) this.writeToStderr(line);
  }

  /** Writes a line to stderr, even with --json. */
  writeToStderr(line: string): void {
    this.terminal.err(`${this.redaction.apply(line)}\n`);
  }

  /**
   * Writes the result: JSON for machines, or lines for people. GitHub reads `##[` as a workflow command anywhere in a line, so the
   * bracket is escaped in JSON.
   */
  writeResult(value: unknown, lines: readonly string[]): void {
    this.write(
      this.json ? `${JSON.stringify(value).replaceAll('##[', '##\\u005b')}\n` : lines.map((line) => `${line}\n`).join(''),
    );
  }

  /** An environment variable. An empty one counts as unset, because CI systems pass unset variables as empty. */
  variable(name: string): string | undefined {
    const value = this.terminal.environment[name];
    return value === undefined || value === '' ? undefined : value;
  }

  /**
   * The address of the service without a final slash.
   * @throws CommandError, without the address in its message, if no address is set, or it contains a user, password, query or fragment.
   */
  address({ url }: ConnectionOptions): string {
    const address = url ?? this.variable('COUNTERSIGN_URL');
    if (address === undefined)
      throw wrongUse('no service address: set --url or COUNTERSIGN_URL, such as https://countersign.example.com');
    // The address is printed in messages, so it must not contain a password or a token.
    if (MAY_CONTAIN_SECRET.test(address))
      throw wrongUse(
        'the address (--url, COUNTERSIGN_URL) must not contain a user, password, query or fragment; the key belongs in COUNTERSIGN_API_KEY',
      );
    return address.replace(/\/+$/, '');
  }

  /**
   * Reads the ingestion key from stdin or the environment.
   * @throws CommandError, without the key in its message, if the key is missing, malformed or a read token.
   */
  async key(connection: ConnectionOptions): Promise<string> {
    const fromInput = connection['key-stdin'] === true;
    const text = fromInput
      ? Buffer.from(await this.terminal.input())
          .toString('utf8')
          .trim()
      : this.variable('COUNTERSIGN_API_KEY')?.trim();
    if (text === undefined || text === '')
      throw wrongUse(
        fromInput
          ? 'standard input is empty; --key-stdin expects the ingestion key there'
          : 'no ingestion key: set COUNTERSIGN_API_KEY, or give it on standard input with --key-stdin',
      );
    this.redaction.add(text);
    const key = parseIngestionKey(text);
    if (key === undefined)
      throw wrongUse(
        `the ingestion key must have the form aa_live_<12 hex digits>.<43 characters>, ` +
          `but this one has ${text.length} characters${/\s/.test(text) ? ', including white space' : ''}`,
      );
    this.redaction.add(key.secret);
    if (key.kind === 'read')
      throw wrongUse(
        'this is a read token (aa_read_), which cannot record data or request decisions; give an ingestion key (aa_live_)',
      );
    return text;
  }

  /** A client of the service. */
  async client(connection: ConnectionOptions): Promise<Countersign> {
    const baseUrl = this.address(connection);
    const apiKey = await this.key(connection);
    const deadlineMs = connection.timeout === undefined ? TIMEOUT_MS_DEFAULT : readDuration('--timeout', connection.timeout);
    try {
      return new Countersign({
        ...{ baseUrl, apiKey, deadlineMs, timeoutMs: Math.min(10_000, deadlineMs) },
        insecureHttp: connection['insecure-http'] === true,
        retries: { pauseMs: 200, pauseMsMax: 5000 },
        fetch: this.#loggingFetch(),
      });
    } catch (error) {
      if (error instanceof CountersignError) throw wrongUse(withOptionNames(error.message), error);
      throw error;
    }
  }

  #loggingFetch(): FetchLike {
    return async (url, request) => {
      if (this.debug) this.writeToStderr(`debug: ${request.method} ${oneLine(url)} ${oneLine(String(request.body))}`);
      const response = await this.terminal.fetch(url, request);
      if (this.debug)
        this.writeToStderr(
          `debug: ${response.status}, request ${oneLine(response.headers.get('x-request-id') ?? 'without an ID')}`,
        );
      for (const line of similarNameLines(response.headers.get('countersign-warning'))) this.writeToStderr(line);
      return response;
    };
  }
}

/** Replaces the option names of the library by those of the command. */
const withOptionNames = (message: string): string =>
  message
    .replaceAll('baseUrl', 'the address (--url, COUNTERSIGN_URL)')
    .replaceAll('apiKey', 'the ingestion key')
    .replaceAll('set insecureHttp', 'give --insecure-http');
