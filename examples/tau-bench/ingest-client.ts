import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** The server rejected a request, did not respond, or did not store all spans. The message is one line for people. */
export class IngestError extends Error {
  override name = 'IngestError';
}

/** The response to an accepted request. */
export interface IngestResult {
  body: Record<string, unknown>;
  /** Whether the server had already accepted the same request, so that nothing new was stored. */
  isReplay: boolean;
}

const ATTEMPTS = 6;
const PAUSE_MS_MAX = 30_000;

/** Sends JSON to one server with one key. Because of its Idempotency-Key, a record that is sent twice within 24 hours is stored once. */
export class IngestClient {
  readonly #base: URL;
  readonly #key: string;

  constructor(url: URL, key: string) {
    this.#base = new URL(url.href.endsWith('/') ? url : `${url.href}/`);
    this.#key = key;
  }

  /**
   * POSTs a body and returns the response. After 429, 503 or a broken connection the request is retried, up to six attempts in all. The
   * Idempotency-Key is derived from the content and the ingestion key. So the server recognizes the same request in this run of the
   * importer and in later ones, and others cannot guess the Idempotency-Key.
   * @throws IngestError if the server rejects the request, no server listens, or every attempt fails.
   */
  async post(path: string, content: object): Promise<IngestResult> {
    const body = JSON.stringify(content);
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${this.#key}`,
      'idempotency-key': `tau-bench:${createHmac('sha256', this.#key).update(body).digest('hex')}`,
    };
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#send(path, { method: 'POST', headers, body }, attempt === ATTEMPTS);
      if (response?.ok) {
        const isReplay = response.headers.get('idempotent-replayed') === 'true';
        return { body: await bodyOf(path, response), isReplay };
      }
      const isRetryable = response === undefined || response.status === 429 || response.status === 503;
      if (!isRetryable || attempt === ATTEMPTS) throw await errorOf(path, response!);
      await response?.body?.cancel();
      await sleep(pauseMs(response?.headers.get('retry-after'), attempt));
    }
  }

  /** The response, or undefined if the connection failed and a retry may succeed. */
  async #send(path: string, request: RequestInit, isLast: boolean): Promise<Response | undefined> {
    try {
      return await fetch(new URL(path, this.#base), request);
    } catch (error) {
      const { cause } = error as Error & { cause?: Error & { code?: string } };
      const isUnreachable = cause?.code === 'ECONNREFUSED' || cause?.code === 'ENOTFOUND';
      if (!isLast && !isUnreachable) return undefined;
      const reason = cause?.code ?? cause?.message ?? (error as Error).message;
      throw new IngestError(
        `no response from ${this.#base.origin} (${reason}). Check that the server is running there; \`npm start\` starts one`,
      );
    }
  }
}

const pauseMs = (retryAfter: string | null | undefined, attempt: number): number =>
  Math.min(retryAfter ? Number(retryAfter) * 1000 || 1000 : 100 * 2 ** attempt, PAUSE_MS_MAX);

/** The JSON body of an accepted request. A proxy may respond with a page instead. */
async function bodyOf(path: string, response: Response): Promise<Record<string, unknown>> {
  try {
    return (await response.json()) as Record<string, unknown>;
  } catch {
    throw foreignResponseError(path, response);
  }
}

/** An error with the code of the response and its first issue. */
async function errorOf(path: string, response: Response): Promise<IngestError> {
  const text = await response.text();
  try {
    const { error, issues } = JSON.parse(text) as { error: string; issues: { path: string; message: string }[] };
    const [first] = issues;
    const where = first === undefined ? '' : `: ${first.path === '' ? '' : `${first.path} `}${first.message}`;
    return new IngestError(`${path} returned ${response.status} ${error}${where}`);
  } catch {
    return foreignResponseError(path, response);
  }
}

const foreignResponseError = (path: string, { status }: Response): IngestError =>
  new IngestError(`${path} returned ${status}, but the response is not from Countersign. Check the address of the server`);
