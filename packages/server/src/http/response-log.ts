import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { EarlyRejection } from './error-reply.ts';

/** The counts are logged at most once per period, with one line for each code. */
const PERIOD_MS = 1_000;

/** The rejections with one code since the counts were last logged. */
interface RejectionCount {
  count: number;
  status: number;
  /** Endpoint and ID of the first of these requests. At level debug, the log also has a line for that request. */
  endpoint: string;
  reqId: string;
  /** The cause of the first of these rejections, if known. */
  reason: string | undefined;
}

/**
 * Logs each response: one with status 500 at level warn, all others at level debug. Rejections with other statuses are also counted by
 * code. The counts are logged at most once a second, at level info or warn, so that thousands of bad requests per second do not fill the
 * disk.
 */
export class ResponseLog {
  readonly #log: FastifyBaseLogger;
  readonly #counted = new Map<string, RejectionCount>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /** Logs a response that was sent. */
  note(request: FastifyRequest, reply: FastifyReply, endpoint: string): void {
    const { statusCode: status } = reply;
    const facts = { endpoint, status, ms: Math.round(reply.elapsedTime * 10) / 10 };
    if (status < 400) request.log.debug(facts, 'response sent');
    // An internal error is logged for every request.
    else if (status === 500) request.log.warn(facts, 'response sent');
    else this.#noteRejection(request, facts);
  }

  /** Logs an early rejection. */
  noteEarly({ code, status, requestId: reqId, reason }: EarlyRejection, endpoint: string): void {
    this.#log.debug({ reqId, endpoint, status, code, reason }, 'response sent');
    this.#count(code, { status, endpoint, reqId, reason });
  }

  #noteRejection(request: FastifyRequest, facts: { endpoint: string; status: number; ms: number }): void {
    const { endpoint, status } = facts;
    const { code, reason } = request.rejection ?? { code: String(status), reason: undefined };
    request.log.debug({ ...facts, code, reason }, 'response sent');
    this.#count(code, { status, endpoint, reqId: request.id, reason });
  }

  #count(code: string, first: Omit<RejectionCount, 'count'>): void {
    const rejectionCount = this.#counted.get(code);
    if (rejectionCount === undefined) this.#counted.set(code, { count: 1, ...first });
    else rejectionCount.count += 1;
    this.#timer ??= setTimeout(() => this.flush(), PERIOD_MS).unref();
  }

  /** Logs the counts now, and resets them. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [kind, { count, status, ...first }] of this.#counted) {
      const requests = count === 1 ? '1 request' : `${count.toLocaleString('en-US')} requests`;
      this.#log[status >= 500 ? 'warn' : 'info']({ kind, status, refused: count, ...first }, `${requests} rejected: ${kind}`);
    }
    this.#counted.clear();
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was rejected, if it was. */
    rejection: { code: string; reason: string | undefined } | undefined;
  }
}
