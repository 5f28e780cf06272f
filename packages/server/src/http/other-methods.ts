import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import FindMyWay from 'find-my-way';
import { ApiError } from '../errors/api-error.ts';

/** Methods that the route of the portal's pages accepts for every path. A path of the API that rejects them needs its own route. */
const METHODS_OF_PAGES: readonly string[] = ['GET', 'HEAD'];

/** The content of the 405 response of a path. */
interface MethodRejection {
  allowed: readonly string[];
  /** Additional headers of the response. */
  headers: Readonly<Record<string, string>>;
}

/**
 * The paths of an application with the methods that they support. A separate router finds them, also if they are percent-encoded
 * (`/api/public/aud%69t`) or in a whole URL in the request line. It has one entry for each path. With Fastify, each path would need a route
 * for each method that Node parses. Registering all these routes would take a fifth of the startup time.
 */
export class KnownPaths {
  readonly #router = FindMyWay({ caseSensitive: true, ignoreTrailingSlash: false });

  /** Adds a path. */
  add(url: string, rejection: MethodRejection): void {
    this.#router.on('GET', url, () => undefined, rejection);
  }

  /** The error for a request that has no route: 405 if its path is known, otherwise 404. */
  rejectionOf({ raw }: FastifyRequest, reply: FastifyReply): ApiError {
    const rejection = this.#router.find('GET', raw.url ?? '/')?.store as MethodRejection | undefined;
    return rejection === undefined ? new ApiError('not_found') : methodNotAllowed(rejection, reply);
  }
}

function methodNotAllowed({ allowed, headers }: MethodRejection, reply: FastifyReply): ApiError {
  void reply.headers(headers);
  return new ApiError('method_not_allowed', [], { Allow: allowed.join(', ') });
}

/**
 * Makes the application respond 405 to all methods that these paths do not support.
 * @param headers additional headers of the response.
 */
export function rejectOtherMethods(
  app: FastifyInstance,
  urls: Iterable<string>,
  allowed: readonly string[],
  headers: MethodRejection['headers'] = {},
): void {
  const rejection = { allowed, headers };
  const method = METHODS_OF_PAGES.filter((each) => !allowed.includes(each));
  for (const url of urls) {
    app.knownPaths.add(url, rejection);
    if (method.length === 0) continue;
    app.route({
      method,
      url,
      handler: async (_request, reply) => {
        throw methodNotAllowed(rejection, reply);
      },
    });
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The paths with their methods, to distinguish a wrong method from a wrong path. */
    knownPaths: KnownPaths;
  }
}
