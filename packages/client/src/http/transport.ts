import { isIdempotencyKey } from '@countersign/core/domain/idempotency-key';
import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import type { Log } from '../log.ts';
import { positiveOption } from '../positive-option.ts';
import { VERSION } from '../version.ts';
import { type Endpoint, isResponseOf } from './endpoints.ts';
import { ApiError, ConfigurationError, ConnectionError, CountersignError } from './errors.ts';
import type { FetchLike, FetchResponse } from './fetch-like.ts';
import { readResponse, unexpectedResponseError } from './read-response.ts';
import { keepReceipt } from './receipt.ts';
import { isRetryable, pause, pauseAfter, type RetryOptions } from './retry-pace.ts';
import { withTimeout } from './with-timeout.ts';

/** The options of one call. */
export interface CallOptions {
  /** Cancels the call, even between attempts. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Time limit of one attempt, in milliseconds. Default: the client's `timeoutMs`. */
  timeoutMs?: number | undefined;
  /** Time limit of the whole call with all attempts and pauses, in milliseconds. Default: the client's `deadlineMs`. */
  deadlineMs?: number | undefined;
  /**
   * The Idempotency-Key of this request, 1 to 255 printable ASCII characters. Default: a random one. A request that is repeated with the
   * same key and body within 24 hours is stored once. Choose a key that others cannot guess: a sender with another ingestion key of the
   * workspace could use it first, and this record would not be stored. Promotion checks ignore the key: each of them makes a new decision.
   */
  idempotencyKey?: string | undefined;
}

/** The options of one call, with those that only this library sets. */
export interface SendOptions extends CallOptions {
  /** Returns additional headers. Called for each attempt, before its request is sent. */
  headers?: (() => Readonly<Record<string, string>>) | undefined;
  /** The maximum number of attempts, if lower than the client's. */
  attemptsMax?: number | undefined;
}

/** The settings of a transport. */
export interface TransportSettings {
  /** Without a slash at its end. */
  baseUrl: string;
  apiKey: () => string | Promise<string>;
  fetch: FetchLike;
  timeoutMs: number;
  deadlineMs: number;
  retries: Required<RetryOptions>;
  log: Log;
}

/** Sends requests with key and Idempotency-Key, and retries them within the deadline. */
export class Transport {
  readonly #settings: TransportSettings;

  constructor(settings: TransportSettings) {
    this.#settings = settings;
  }

  /**
   * POSTs the JSON text of `bodyOf` and returns the response.
   * @throws ConfigurationError if the body is not JSON, or an option or the API key is malformed; ApiError for an error status;
   * ConnectionError, TimeoutError or UnexpectedAnswerError; or the signal's reason.
   */
  async post<Result extends object>(endpoint: Endpoint, bodyOf: () => string, options: SendOptions = {}): Promise<Result> {
    const body = bodyOf();
    const { retries, log } = this.#settings;
    const attemptMsMax = positiveOption('timeoutMs', options.timeoutMs, this.#settings.timeoutMs);
    const endsAt = performance.now() + positiveOption('deadlineMs', options.deadlineMs, this.#settings.deadlineMs);
    const idempotencyKey = readIdempotencyKey(options.idempotencyKey ?? crypto.randomUUID());
    const attemptsMax = Math.min(retries.attemptsMax, options.attemptsMax ?? Number.POSITIVE_INFINITY);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const timeoutMs = Math.max(1, Math.min(attemptMsMax, endsAt - performance.now()));
        return (await this.#attempt(endpoint, body, { ...options, idempotencyKey, attempt, timeoutMs })) as Result;
      } catch (error) {
        if (error instanceof CountersignError) error.attempts = attempt;
        if (log.has('debug')) log.write('debug', `POST ${endpoint.path}: ${logText(error, options.signal)}`);
        if (!isRetryable(error) || attempt >= attemptsMax) throw error;
        const pauseMs = pauseAfter(attempt, error, endsAt - performance.now(), retries);
        if (pauseMs === undefined) throw error;
        if (log.has('warn'))
          log.write(
            'warn',
            `attempt ${attempt} failed, next attempt in ${Math.round(pauseMs)} ms: ${logText(error, options.signal)}`,
          );
        await pause(pauseMs, options.signal);
      }
    }
  }

  async #attempt(
    endpoint: Endpoint,
    body: string,
    {
      idempotencyKey,
      attempt,
      timeoutMs,
      ...options
    }: SendOptions & { idempotencyKey: string; attempt: number; timeoutMs: number },
  ): Promise<object> {
    const { baseUrl, fetch } = this.#settings;
    const url = baseUrl + endpoint.path;
    let outcome = 'apiKey() returned no key';
    const timeoutMessage = () => `${outcome} within ${Math.round(timeoutMs)} ms`;
    return withTimeout(timeoutMs, options.signal, timeoutMessage, async (signal) => {
      const headers = { ...(await this.#headers(idempotencyKey)), ...options.headers?.() };
      outcome = `${url} did not respond`;
      const response = await withConnectionErrors(`${url} cannot be reached`, () =>
        fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal }),
      );
      const { value, text } = await withConnectionErrors(`the response of ${url} cannot be read`, () =>
        readResponse(response, url),
      );
      if (!isResponseOf(endpoint, value))
        throw unexpectedResponseError(url, response.status, `it has no valid member ${endpoint.resultMember}`);
      keepReceipt(value, { ...responseDetails(response), idempotencyKey, attempts: attempt, text });
      if (this.#settings.log.has('debug'))
        this.#settings.log.write(
          'debug',
          `POST ${endpoint.path}: 200 (request ${response.headers.get('x-request-id') ?? 'without an ID'})`,
        );
      return value;
    });
  }

  async #headers(idempotencyKey: string): Promise<Record<string, string>> {
    return {
      authorization: `Bearer ${await this.#key()}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'idempotency-key': idempotencyKey,
      'user-agent': `countersign-client/${VERSION}`,
    };
  }

  /** Reads the key, which may come from a remote store. Each attempt reads it again, within the time limit of the attempt. */
  async #key(): Promise<string> {
    try {
      return readKey(await this.#settings.apiKey());
    } catch (error) {
      if (error instanceof CountersignError) throw error;
      throw new ConnectionError(`apiKey() failed: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}

/**
 * Turns failures of fetch, and of reading the response, into a ConnectionError whose message starts with `fault`. Errors of this library
 * stay unchanged.
 */
async function withConnectionErrors<T>(fault: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CountersignError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message || (cause as Error & { code?: string }).code || cause.name : String(cause);
    throw new ConnectionError(`${fault}: ${why}`, { cause: error });
  }
}

/** Returns a valid Idempotency-Key, or throws. Without this check, a line break would make fetch fail like a broken connection. */
function readIdempotencyKey(key: unknown): string {
  if (isIdempotencyKey(key)) return key;
  throw new ConfigurationError('idempotencyKey must be 1 to 255 printable ASCII characters');
}

/** Returns a well-formed key. Throws a ConfigurationError, without the key, for any other value. */
export function readKey(key: unknown): string {
  const parsed = typeof key === 'string' ? parseIngestionKey(key) : undefined;
  if (parsed === undefined)
    throw new ConfigurationError(
      'apiKey must be an ingestion key: aa_live_<12 hex digits>.<43 characters>, without spaces or line ends',
    );
  if (parsed.kind === 'read')
    throw new ConfigurationError(
      'apiKey must be an ingestion key (aa_live_); a read token (aa_read_) cannot record data or request decisions',
    );
  return key as string;
}

/**
 * The text of an error in the log. The texts of issues, and of errors that this library did not throw, are left out, because they may quote
 * the request or the response. But the message of a ConnectionError quotes the error of `fetch`.
 */
const logText = (error: unknown, signal: AbortSignal | undefined): string => {
  if (error instanceof ApiError)
    return `${error.status} ${error.code ?? 'from a proxy'} (request ${error.requestId ?? 'without an ID'})`;
  if (error instanceof CountersignError) return `${error.name}: ${error.message}`;
  if (signal?.aborted && error === signal.reason) return 'canceled by its signal';
  return `failed with ${error instanceof Error ? error.name : typeof error}`;
};

function responseDetails({ headers: responseHeaders }: FetchResponse) {
  const headers: Record<string, string> = {};
  responseHeaders.forEach((value, name) => {
    headers[name.toLowerCase()] = value;
  });
  return { headers, requestId: headers['x-request-id'], replayed: headers['idempotent-replayed'] === 'true' };
}
