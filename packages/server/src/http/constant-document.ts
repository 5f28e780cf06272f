import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How long a client may cache a document. A new version of the server has new documents. */
const CACHE_CONTROL = 'public, max-age=300';

/** A document that never changes while the server runs. Its bytes are created once and shared by all responses. */
export class ConstantDocument {
  readonly #bytes: Buffer;
  readonly #etag: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers the document's own headers, including `content-type`. */
  constructor(text: string, headers: Readonly<Record<string, string>>) {
    this.#bytes = Buffer.from(text);
    this.#etag = `"${createHash('sha256').update(this.#bytes).digest('base64url').slice(0, 22)}"`;
    this.#headers = { ...headers, 'cache-control': CACHE_CONTROL, etag: this.#etag };
  }

  /** Sends the document, or 304 if the client already has it. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    void reply.headers(this.#headers);
    if (!namesEtag(request.headers['if-none-match'], this.#etag)) return reply.send(this.#bytes);
    return reply.code(304).removeHeader('content-type').send();
  }
}

/** Whether If-None-Match names an entity tag (RFC 9110, section 13.1.2): weak comparison, a list, or `*`. */
export function namesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((given) => given.trim() === '*' || given.trim().replace(/^W\//, '') === etag);
}
