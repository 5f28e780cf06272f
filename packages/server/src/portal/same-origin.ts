import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors/api-error.ts';

/** Tells requests of the portal's own pages from those of others. */
export interface SameOrigin {
  /** Throws `cross_origin` for a request that the own pages have not sent. */
  require(headers: IncomingHttpHeaders): void;
}

/**
 * What asks for a change must be a page of this origin: browsers say so by Origin with every request that is no GET, and by
 * Sec-Fetch-Site where they can; a page can write neither. A request without Origin is by no page, and is refused as well.
 * @param secure whether pages are reached by TLS. @param behindProxy whether a proxy may have kept the host in X-Forwarded-Host.
 * @param publicUrl the origin that people know, where the operator has named it: a proxy may ask for another host.
 */
export function sameOrigin({
  secure,
  behindProxy,
  publicUrl,
}: {
  secure: boolean;
  behindProxy: boolean;
  publicUrl: string | undefined;
}): SameOrigin {
  const scheme = secure ? 'https:' : 'http:';
  return {
    require: (headers) => {
      const site = headers['sec-fetch-site'];
      if (site !== undefined && site !== 'same-origin') throw crossOrigin(`Sec-Fetch-Site is ${String(site).slice(0, 20)}`);
      const { origin } = headers;
      if (origin === undefined) throw crossOrigin('Origin is missing');
      const forwarded = behindProxy ? headers['x-forwarded-host'] : undefined;
      const hosts = [headers.host, forwarded].flatMap((host) => (typeof host === 'string' ? [host.toLowerCase()] : []));
      const own = origin === publicUrl || hosts.some((host) => isOrigin(origin, scheme, host));
      if (!own) throw crossOrigin('Origin is not the address that this server was asked at');
    },
  };
}

function isOrigin(origin: string, scheme: string, host: string): boolean {
  const address = `${scheme}//${host}`;
  return URL.canParse(address) && URL.canParse(origin) && new URL(address).origin === new URL(origin).origin;
}

const crossOrigin = (reason: string): ApiError =>
  new ApiError('cross_origin', [
    { path: '', code: 'bad_header', message: `changes are asked for by the portal's own pages alone: ${reason}` },
  ]);
