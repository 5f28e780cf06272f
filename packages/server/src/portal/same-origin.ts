import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors/api-error.ts';
import { namesIn } from '../http/request-host.ts';

/** Distinguishes requests of the portal's own pages from others. */
export interface SameOrigin {
  /** Throws `cross_origin` for a request that is not from the portal's pages. */
  require(headers: IncomingHttpHeaders): void;
}

/**
 * Changes must come from a page of this origin. Browsers send the origin of the page in `Origin`, except with GET and HEAD. Most also send
 * `Sec-Fetch-Site`, which says whether page and target have the same origin. Pages can set neither header. A request without `Origin` is
 * rejected too.
 * @param secure whether pages use TLS. @param behindProxy whether a proxy may have kept the host in X-Forwarded-Host.
 * @param publicUrl the configured public origin. It is accepted even if a proxy changed the Host header.
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
      const hosts = [headers.host ?? '', ...namesIn(forwarded)];
      const own = origin === publicUrl || hosts.some((host) => isOrigin(origin, scheme, host.toLowerCase()));
      if (!own) throw crossOrigin('Origin is not the address of this server');
    },
  };
}

function isOrigin(origin: string, scheme: string, host: string): boolean {
  const address = `${scheme}//${host}`;
  return URL.canParse(address) && URL.canParse(origin) && new URL(address).origin === new URL(origin).origin;
}

const crossOrigin = (reason: string): ApiError =>
  new ApiError('cross_origin', [
    { path: '', code: 'bad_header', message: `only the portal's own pages can request changes: ${reason}` },
  ]);
