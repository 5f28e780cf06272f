import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error.ts';

/**
 * Makes the methods that paths do not take a 405. They are routes like the others, so that the router alone says what a path is, however it
 * is written (`/api/public/aud%69t`, a whole URL in the request line); and a request with a method that is taken never comes by here.
 * @param headers what the refusal carries besides Allow.
 */
export function refuseOtherMethods(
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
