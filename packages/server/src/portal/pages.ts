import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error.ts';
import { preferredEncoding } from '../http/accept-encoding.ts';
import type { BuiltFile } from './built-pages.ts';
import type { SecurityHeaders } from './security-headers.ts';

/** Vite names these by a hash of what is in them: what is once at a path stays there. */
const HASHED = '/assets/';
/** How the build compresses files, in the order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
const FOR_EVER = 'public, max-age=31536000, immutable';

/** What is asked for by programs: never a page, whatever the browser would like. */
const FOR_PROGRAMS = /^\/(api|assets|\.well-known)(\/|$)/;

/** Serves the built pages. Every path that a browser opens and nothing else answers is the portal's own: it gets the one page, which knows its paths. */
export function registerPages(
  app: FastifyInstance,
  { files, headers }: { files: ReadonlyMap<string, BuiltFile>; headers: SecurityHeaders },
): void {
  const index = files.get('/index.html');
  app.get('/*', { config: { endpoint: 'portal:pages' }, exposeHeadRoute: true }, async (request, reply) => {
    const path = request.url.split('?', 1)[0]!;
    const file = path === '/index.html' ? undefined : files.get(path);
    if (file !== undefined)
      return sendFile(request, reply.headers(headers.page), file, path.startsWith(HASHED) ? FOR_EVER : 'no-cache');
    if (!isNavigation(request, path)) throw new ApiError('not_found');
    void reply.headers(headers.page);
    return index === undefined ? sendNotBuilt(reply) : sendFile(request, reply, index, 'no-store');
  });
}

/** A browser that opens a page asks for HTML; a script, a picture or a program does not. */
function isNavigation({ headers }: FastifyRequest, path: string): boolean {
  if (FOR_PROGRAMS.test(path)) return false;
  return path === '/' || (headers.accept ?? '').includes('text/html');
}

function sendFile({ headers }: FastifyRequest, reply: FastifyReply, file: BuiltFile, cacheControl: string): FastifyReply {
  const encoding = preferredEncoding(
    headers['accept-encoding'],
    ENCODINGS.filter((each) => file[each] !== undefined),
  );
  const etag = encoding === undefined ? file.etag : `${file.etag.slice(0, -1)}-${encoding}"`;
  void reply.headers({ 'cache-control': cacheControl, vary: 'accept-encoding', etag });
  if (headers['if-none-match'] === etag) return reply.code(304).send();
  if (encoding !== undefined) void reply.header('content-encoding', encoding);
  return reply.header('content-type', file.contentType).send(encoding === undefined ? file.plain : file[encoding]);
}

/** Says what to do where the pages are not built: only in a checkout, where the server was started without its set-up. */
function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .headers({ 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' })
    .send(
      "The portal's pages are not built. In the checkout of Countersign, `npm run setup` builds them; then start the server again.\n" +
        'The API and the command line work without them: /docs\n',
    );
}
