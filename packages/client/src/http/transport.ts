import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import type { Log } from '../log.ts';
import { VERSION } from '../version.ts';
import { type Endpoint, isAnswerOf } from './endpoints.ts';
import { ApiError, ConfigurationError, ConnectionError, CountersignError } from './errors.ts';
import type { FetchAnswer, FetchLike } from './fetch-like.ts';
import { notOfTheService, readAnswer } from './read-answer.ts';
import { keepReceipt } from './receipt.ts';
import { isRetryable, pause, pauseAfter, type RetryOptions } from './retry-pace.ts';
import { withTimeout } from './with-timeout.ts';

/** What one call may say for itself. */
export interface CallOptions {
  /** Ends the call, also between attempts; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt. */
  timeoutMs?: number | undefined;
  /** Milliseconds for the whole call, all attempts and pauses included. */
  deadlineMs?: number | undefined;
  /** The key of this request, 1 to 255 printable ASCII characters; a random one when left out. The same key with the same body stores nothing twice for 24 hours. */
  idempotencyKey?: string | undefined;
}

/** What a call may be sent with besides what its caller says. */
export interface SendOptions extends CallOptions {
  headers?: Readonly<Record<string, string>> | undefined;
  /** Most attempts, where they are fewer than the client's own. */
  attemptsMax?: number | undefined;
}

/** What a transport is made of. */
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

/** Sends requests: each with its key and Idempotency-Key, tried again within its deadline while that is safe and may help. */
export class Transport {
  readonly #settings: TransportSettings;

  constructor(settings: TransportSettings) {
    this.#settings = settings;
  }

  /**
   * POSTs what `bodyOf` makes, a JSON text, and returns the answer.
   * @throws ConfigurationError when no body can be made, an ApiError's class by status, ConnectionError, TimeoutError, UnexpectedAnswerError, or the signal's reason.
   */
  async post<Answer extends object>(endpoint: Endpoint, bodyOf: () => string, options: SendOptions = {}): Promise<Answer> {
    const body = bodyOf();
    const { retries, deadlineMs: usual, log } = this.#settings;
    const deadlineMs = options.deadlineMs ?? usual;
    const endsAt = performance.now() + deadlineMs;
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    const attemptsMax = Math.min(retries.attemptsMax, options.attemptsMax ?? Number.POSITIVE_INFINITY);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const left = endsAt - performance.now();
        return (await this.#attempt(endpoint, body, { ...options, idempotencyKey, attempt, left })) as Answer;
      } catch (error) {
        if (error instanceof CountersignError) error.attempts = attempt;
        if (log.has('debug')) log.write('debug', `POST ${endpoint.path}: ${logged(error)}`);
        if (!isRetryable(error) || attempt >= attemptsMax) throw error;
        const pauseMs = pauseAfter(attempt, error, endsAt - performance.now(), retries);
        if (pauseMs === undefined) throw error;
        if (log.has('warn'))
          log.write('warn', `attempt ${attempt} failed, the next follows in ${Math.round(pauseMs)} ms: ${logged(error)}`);
        await pause(pauseMs, options.signal);
      }
    }
  }

  async #attempt(
    endpoint: Endpoint,
    body: string,
    { idempotencyKey, attempt, left, ...options }: SendOptions & { idempotencyKey: string; attempt: number; left: number },
  ): Promise<object> {
    const { baseUrl, fetch } = this.#settings;
    const url = baseUrl + endpoint.path;
    const timeoutMs = Math.max(1, Math.min(options.timeoutMs ?? this.#settings.timeoutMs, left));
    return withTimeout(timeoutMs, options.signal, `${url} did not answer within ${Math.round(timeoutMs)} ms`, async (signal) => {
      const headers = { ...(await this.#headers(idempotencyKey)), ...options.headers };
      const answer = await reached(url, () => fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal }));
      const { value, text } = await reached(url, () => readAnswer(answer, url));
      if (!isAnswerOf(endpoint, value)) throw notOfTheService(url, answer.status, `it says nothing of ${endpoint.says}`);
      keepReceipt(value, { ...receiptHeaders(answer), idempotencyKey, attempts: attempt, text });
      if (this.#settings.log.has('debug'))
        this.#settings.log.write(
          'debug',
          `POST ${endpoint.path}: 200 (request ${answer.headers.get('x-request-id') ?? 'without an id'})`,
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

  /** Where a key comes from may be as far away as the service: it has the same time, and may be tried again as it may. */
  async #key(): Promise<string> {
    try {
      return readKey(await this.#settings.apiKey());
    } catch (error) {
      if (error instanceof CountersignError) throw error;
      throw new ConnectionError(`apiKey() gave no key: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}

/** Whatever a fetch fails with is a ConnectionError, with what it said as its cause. */
async function reached<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CountersignError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message || (cause as Error & { code?: string }).code || cause.name : String(cause);
    throw new ConnectionError(`${url} cannot be reached: ${why}`, { cause: error });
  }
}

/** A key that the service can know. The key itself is never in a message. */
export function readKey(key: unknown): string {
  const read = typeof key === 'string' ? parseIngestionKey(key) : undefined;
  if (read === undefined)
    throw new ConfigurationError(
      'apiKey must be an ingestion key: aa_live_<12 hex digits>.<43 characters>, without spaces or line ends',
    );
  if (read.kind === 'read')
    throw new ConfigurationError(
      'apiKey must be an ingestion key (aa_live_); a read token (aa_read_) records nothing and decides nothing',
    );
  return key as string;
}

/** An error in a line of the log. The texts of issues are left out: they may quote what was sent. */
const logged = (error: unknown): string => {
  if (error instanceof ApiError)
    return `${error.status} ${error.code ?? 'of something else'} (request ${error.requestId ?? 'without an id'})`;
  return error instanceof CountersignError ? `${error.name}: ${error.message}` : 'ended by its signal';
};

function receiptHeaders({ headers: answered }: FetchAnswer) {
  const headers: Record<string, string> = {};
  answered.forEach((value, name) => {
    headers[name.toLowerCase()] = value;
  });
  return { headers, requestId: headers['x-request-id'], replayed: headers['idempotent-replayed'] === 'true' };
}
