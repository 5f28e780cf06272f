import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors/api-error.ts';

/** The form of a Host header: empty (RFC 9110, section 7.2), or the name or address of a machine with an optional port. */
const HOST = /^(?:[\w.~-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i;

/** The authority of a request target in absolute form (RFC 9112, section 3.2.2), which replaces Host. */
const ABSOLUTE_TARGET = /^https?:\/\/([^/?#]*)/i;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/** Checks the host of a request. Returns the error of the response, or undefined if the host is accepted. */
export type HostCheck = (request: FastifyRequest) => ApiError | undefined;

/**
 * Checks that a request has one Host header (in HTTP/1.0 it may be missing) and that the host is well-formed or empty. If names are
 * configured, the host must be one of them, a loopback name, or the local address of the connection, except on routes with `anyHost`. The
 * check blocks pages whose own host name resolves to this server (DNS rebinding).
 * @param names the allowed names; empty for any.
 * @param behindProxy whether each name in `X-Forwarded-Host` must be allowed too. This header does not replace Host: a page can set the
 * header, and not every proxy removes it.
 */
export function hostCheck({ names, behindProxy }: { names: readonly string[]; behindProxy: boolean }): HostCheck {
  const allowed = new Set(names.map(nameOf));
  return (request) => {
    const { headers, rawHeaders, httpVersion, url = '/', socket } = request.raw;
    const target = url.startsWith('/') ? undefined : ABSOLUTE_TARGET.exec(url)?.[1];
    const hostCount = countHosts(rawHeaders);
    if (hostCount > 1) return badHost('is given more than once');
    if (hostCount === 0 && httpVersion === '1.1') return badHost('is missing');
    if (!HOST.test(headers.host ?? '') || !HOST.test(target ?? '')) return badHost('is not the name or address of a host');
    if (allowed.size === 0 || request.routeOptions.config.anyHost === true) return undefined;
    const forwarded = behindProxy ? headers['x-forwarded-host'] : undefined;
    const requestedNames = [target ?? headers.host ?? '', ...namesIn(forwarded)].map(nameOf);
    const wrongName = requestedNames.find(
      (name) => !allowed.has(name) && !LOOPBACK.test(name) && name !== localAddress(socket.localAddress),
    );
    return wrongName === undefined ? undefined : wrongHost(wrongName, names[0]!);
  };
}

/** The names in an `X-Forwarded-Host` header. A chain of proxies writes several, separated by commas. */
export const namesIn = (forwarded: string | string[] | undefined): string[] =>
  [forwarded ?? []].flat().flatMap((names) => names.split(',').map((name) => name.trim()));

/** The number of Host headers. Node's `headers` has only the first one. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** The name of a host, without its port, a final dot and the brackets of an IPv6 address. */
const nameOf = (host: string): string =>
  host
    .trim()
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');

/**
 * A local address in the form that `nameOf` returns. On a dual-stack socket, an IPv4 address has the prefix `::ffff:`, which is removed.
 */
const localAddress = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/, '');

const badHost = (fault: string): ApiError =>
  new ApiError('bad_request', [{ path: '', code: 'bad_header', message: `Host ${fault}; send it once, as name or name:port` }]);

const wrongHost = (name: string, allowedName: string): ApiError =>
  new ApiError('wrong_host', [
    {
      path: '',
      code: 'bad_header',
      message: `this server accepts requests for ${allowedName}, not for ${JSON.stringify(name.slice(0, 100))}; use ${allowedName}, or ask the operator to add the requested name to COUNTERSIGN_ALLOWED_HOSTS`,
    },
  ]);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route accepts any host name: probes, and /metrics with a token. */
    anyHost?: boolean;
  }
}
