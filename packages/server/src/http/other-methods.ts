import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error.ts';

/**
 * Registers a 405 for all methods that the paths do not support. They are ordinary routes, so that the router matches paths in every
 * spelling (`/api/public/aud%69t`, a whole URL in the request line), and supported methods have no extra cost.
 * @param headers additional headers of the response.
 */
export function rejectOtherMethods(
  app: FastifyInstance,
  urls: Iterable<string>,
  taken: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): void {
  const method = app.supportedMethods.filter((each) => !taken.includes(each));
  const handler = async (_request: FastifyRequest, reply: FastifyReply) => {
    void reply.headers(headers);
    throw new ApiError('method_not_allowed', [], { Allow: taken.join(', ') });
  };
  for (const url of urls) app.route({ method, url, handler });
}
