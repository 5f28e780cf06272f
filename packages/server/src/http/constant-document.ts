import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How long a client may cache a document. A new version of the server has new documents. */
const CACHE_CONTROL = 'public, max-age=300';

/** The bytes and the entity tag that all responses of a document share. */
interface Content {
  bytes: Buffer;
  etag: string;
}

/**
 * A document that never changes while the server runs. Its bytes are created at the first request, so that the server starts faster. All
 * responses share them.
 */
export class ConstantDocument {
  readonly #write: () => string;
  readonly #headers: Readonly<Record<string, string>>;
  #content: Content | undefined;

  /**
   * @param write returns the text of the document.
   * @param headers the document's own headers, including `content-type`.
   */
  constructor(write: () => string, headers: Readonly<Record<string, string>>) {
    this.#write = write;
    this.#headers = { ...headers, 'cache-control': CACHE_CONTROL };
  }

  /** Sends the document, or 304 if the client already has it. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    this.#content ??= contentOf(this.#write());
    const { bytes, etag } = this.#content;
    void reply.headers({ ...this.#headers, etag });
    if (!namesEtag(request.headers['if-none-match'], etag)) return reply.send(bytes);
    return reply.code(304).removeHeader('content-type').send();
  }
}

function contentOf(text: string): Content {
  const bytes = Buffer.from(text);
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** Whether If-None-Match names an entity tag (RFC 9110, section 13.1.2): weak comparison, a list, or `*`. */
export function namesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
