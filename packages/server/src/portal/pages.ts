import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error.ts';
import { preferredEncoding } from '../http/accept-encoding.ts';
import { namesEtag } from '../http/constant-document.ts';
import type { BuiltFile } from './built-pages.ts';
import type { SecurityHeaders } from './security-headers.ts';

/** Vite names these files by a hash of their content, so the content of a path never changes. */
const HASHED_FILES = '/assets/';
/** The compressions of the build, in order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
const CACHED_FOREVER = 'public, max-age=31536000, immutable';

/** Paths for programs. They never return a page, even if the client accepts HTML. */
const PROGRAM_PATHS = /^\/(api|assets|\.well-known)(\/|$)/;

/**
 * Serves the built pages. A browser that opens any other path without a route gets index.html, whose router knows the paths of the portal.
 * Paths that match PROGRAM_PATHS get 404 instead.
 */
export function registerPages(
  app: FastifyInstance,
  { files, headers }: { files: ReadonlyMap<string, BuiltFile>; headers: SecurityHeaders },
): void {
  const index = files.get('/index.html');
  app.get<{ Params: { '*': string } }>(
    '/*',
    { config: { endpoint: 'portal:pages' }, exposeHeadRoute: true },
    async (request, reply) => {
      const path = `/${request.params['*']}`; // Decoded, and without the host if the request line has a whole URL.
      const file = path === '/index.html' ? undefined : files.get(path);
      if (file !== undefined)
        return sendFile(request, reply.headers(headers.page), file, path.startsWith(HASHED_FILES) ? CACHED_FOREVER : 'no-cache');
      if (!isNavigation(request, path)) throw new ApiError('not_found');
      void reply.headers(headers.page);
      return index === undefined ? sendNotBuilt(reply) : sendFile(request, reply, index, 'no-store');
    },
  );
}

/**
 * A browser that opens a page accepts HTML; requests for scripts and images, and requests of programs, do not. The path `/` is always a
 * page.
 */
function isNavigation({ headers }: Pick<FastifyRequest, 'headers'>, path: string): boolean {
  if (PROGRAM_PATHS.test(path)) return false;
  return path === '/' || (headers.accept ?? '').includes('text/html');
}

function sendFile(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  file: BuiltFile,
  cacheControl: string,
): FastifyReply {
  const encoding = preferredEncoding(
    headers['accept-encoding'],
    ENCODINGS.filter((each) => file[each] !== undefined),
  );
  const etag = encoding === undefined ? file.etag : `${file.etag.slice(0, -1)}-${encoding}"`;
  void reply.headers({ 'cache-control': cacheControl, vary: 'accept-encoding', etag });
  if (namesEtag(headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding !== undefined) void reply.header('content-encoding', encoding);
  return reply.header('content-type', file.contentType).send(encoding === undefined ? file.plain : file[encoding]);
}

/** Explains what to do if the pages are not built. This happens only in a checkout in which `npm run setup` was not run. */
function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .headers({ 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' })
    .send(
      "The portal's pages are not built. In the checkout of Countersign, `npm run setup` builds them; then start the server again.\n" +
        'The API and the command line work without them. The API is documented at /docs\n',
    );
}
