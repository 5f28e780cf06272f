import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { Countersign, CountersignError, type FetchLike } from '../index.ts';
import { wrongUse } from './exit-codes.ts';
import { oneLine } from './plain-text.ts';
import { readDuration } from './readings.ts';
import { Redaction } from './redaction.ts';
import { similarNameLines } from './similar-name.ts';
import type { Terminal } from './terminal.ts';

/** How the service is reached, as the options name it. */
export interface Connection {
  url?: string | undefined;
  'key-stdin'?: boolean | undefined;
  timeout?: string | undefined;
  'insecure-http'?: boolean | undefined;
}

/** Milliseconds for one call, retries included, unless told otherwise. */
const TIMEOUT_MS_DEFAULT = 30_000;

/** One run of the command: what its commands share. Everything that is written passes the redaction. */
export class Session {
  readonly terminal: Terminal;
  readonly redaction = new Redaction();
  json = false;
  debug = false;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  /** Data, on stdout. */
  write(text: string): void {
    this.terminal.out(this.redaction.of(text));
  }

  /** A line for people, on stderr; not with --json. */
  say(line: string): void {
    if (!this.json) this.warn(line);
  }

  /** A line on stderr in either form. */
  warn(line: string): void {
    this.terminal.err(`${this.redaction.of(line)}\n`);
  }

  /** The command's answer: a JSON value for machines, or lines for people. */
  answer(value: unknown, lines: readonly string[]): void {
    this.write(this.json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(''));
  }

  /** A variable of the environment; undefined when it is empty, as CI systems leave what is not set. */
  variable(name: string): string | undefined {
    const value = this.terminal.environment[name];
    return value === undefined || value === '' ? undefined : value;
  }

  /** The address given, without a slash at its end. */
  address({ url }: Connection): string {
    const given = url ?? this.variable('COUNTERSIGN_URL');
    if (given === undefined)
      throw wrongUse('which service? Give --url or COUNTERSIGN_URL, such as https://countersign.example.com');
    return given.replace(/\/+$/, '');
  }

  /** The ingestion key, from stdin or the environment. It is in no message of this. */
  async key(connection: Connection): Promise<string> {
    const fromInput = connection['key-stdin'] === true;
    const given = fromInput
      ? Buffer.from(await this.terminal.input())
          .toString('utf8')
          .trim()
      : this.variable('COUNTERSIGN_API_KEY')?.trim();
    if (given === undefined || given === '')
      throw wrongUse(
        fromInput
          ? 'standard input is empty; --key-stdin expects the ingestion key there'
          : 'no ingestion key: set COUNTERSIGN_API_KEY, or give it on standard input with --key-stdin',
      );
    this.redaction.add(given);
    const key = parseIngestionKey(given);
    if (key === undefined)
      throw wrongUse(
        `the ingestion key has not the form aa_live_<12 hex digits>.<43 characters>: it has ${given.length} characters${/\s/.test(given) ? ', white space among them' : ''}`,
      );
    this.redaction.add(key.secret);
    if (key.kind === 'read')
      throw wrongUse(
        'this is a read token (aa_read_), which records nothing and decides nothing; give an ingestion key (aa_live_)',
      );
    return given;
  }

  /** A client of the service. */
  async client(connection: Connection): Promise<Countersign> {
    const baseUrl = this.address(connection);
    const apiKey = await this.key(connection);
    const deadlineMs = connection.timeout === undefined ? TIMEOUT_MS_DEFAULT : readDuration('--timeout', connection.timeout);
    try {
      return new Countersign({
        ...{ baseUrl, apiKey, deadlineMs, timeoutMs: Math.min(10_000, deadlineMs) },
        insecureHttp: connection['insecure-http'] === true,
        retries: { pauseMs: 200, pauseMsMax: 5000 },
        fetch: this.#observed(),
      });
    } catch (error) {
      if (error instanceof CountersignError) throw wrongUse(inOwnWords(error.message), error);
      throw error;
    }
  }

  #observed(): FetchLike {
    return async (url, request) => {
      if (this.debug) this.warn(`debug: ${request.method} ${oneLine(url)} ${oneLine(String(request.body))}`);
      const answer = await this.terminal.fetch(url, request);
      if (this.debug)
        this.warn(`debug: ${answer.status}, request ${oneLine(answer.headers.get('x-request-id') ?? 'without an id')}`);
      for (const line of similarNameLines(answer.headers.get('countersign-warning'))) this.warn(line);
      return answer;
    };
  }
}

/** The library speaks of its options, the command of its own. */
const inOwnWords = (message: string): string =>
  message
    .replaceAll('baseUrl', 'the address (--url, COUNTERSIGN_URL)')
    .replaceAll('apiKey', 'the ingestion key')
    .replaceAll('set insecureHttp', 'give --insecure-http');
