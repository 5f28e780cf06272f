import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { EarlyRefusal } from './error-reply.ts';

/** One line a second and kind of refusal. */
const PERIOD_MS = 1_000;

/** The refusals of one kind since the last line. */
interface Counted {
  count: number;
  status: number;
  /** Facts of the first of them, to look it up by. */
  endpoint: string;
  reqId: string;
  /** Why the service cannot take requests now, where it says. */
  reason: string | undefined;
}

/**
 * The log's lines about answers. Each one is there at level debug. Above it, refusals are counted by kind and written once a second:
 * whoever sends thousands of bad requests a second must not fill the disk with lines about them.
 */
export class AnswerLog {
  readonly #log: FastifyBaseLogger;
  readonly #counted = new Map<string, Counted>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /** Takes note of an answer that was sent. */
  note(request: FastifyRequest, reply: FastifyReply, endpoint: string): void {
    const { statusCode: status } = reply;
    const answer = { endpoint, status, ms: Math.round(reply.elapsedTime * 10) / 10 };
    if (status < 400) request.log.debug(answer, 'answered');
    // A fault of our own has a line for each request that met it.
    else if (status === 500) request.log.warn(answer, 'answered');
    else this.#noteRefusal(request, answer);
  }

  /** Takes note of a refusal that no request of the application stands for. */
  noteEarly({ code, status, requestId: reqId, reason }: EarlyRefusal, endpoint: string): void {
    this.#log.debug({ reqId, endpoint, status, code, reason }, 'answered');
    this.#count(code, { status, endpoint, reqId, reason });
  }

  #noteRefusal(request: FastifyRequest, answer: { endpoint: string; status: number; ms: number }): void {
    const { endpoint, status } = answer;
    const { code, reason } = request.refusal ?? { code: String(status), reason: undefined };
    request.log.debug({ ...answer, code, reason }, 'answered');
    this.#count(code, { status, endpoint, reqId: request.id, reason });
  }

  #count(code: string, first: Omit<Counted, 'count'>): void {
    const counted = this.#counted.get(code);
    if (counted === undefined) this.#counted.set(code, { count: 1, ...first });
    else counted.count += 1;
    this.#timer ??= setTimeout(() => this.flush(), PERIOD_MS).unref();
  }

  /** Writes what was counted. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [kind, { count, status, ...first }] of this.#counted) {
      const requests = count === 1 ? '1 request' : `${count.toLocaleString('en-US')} requests`;
      this.#log[status >= 500 ? 'warn' : 'info']({ kind, status, refused: count, ...first }, `${requests} refused: ${kind}`);
    }
    this.#counted.clear();
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was refused, once it was. */
    refusal: { code: string; reason: string | undefined } | undefined;
  }
}
