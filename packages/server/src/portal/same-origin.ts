import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors/api-error.ts';
import { namesIn } from '../http/request-host.ts';

/** Distinguishes requests of the portal's own pages from other requests. */
export interface SameOrigin {
  /** Throws `cross_origin` for a request that is not from the portal's pages. */
  require(headers: IncomingHttpHeaders): void;
}

/** The configuration of the portal's address. */
interface AddressFacts {
  /** Whether pages use TLS. */
  isTls: boolean;
  /** Whether a proxy may have kept the host in X-Forwarded-Host. */
  behindProxy: boolean;
  /** The configured public origin. It is accepted even if a proxy changed the Host header. */
  publicUrl: string | undefined;
}

/**
 * Changes must come from a page of this origin. Browsers send the origin of the page in `Origin`, except with GET and HEAD. Most also send
 * `Sec-Fetch-Site`, which says whether page and target have the same origin. Pages can set neither header. A request without `Origin` is
 * rejected too.
 */
export function sameOrigin({ isTls, behindProxy, publicUrl }: AddressFacts): SameOrigin {
  const scheme = isTls ? 'https:' : 'http:';
  return {
    require: (headers) => {
      const site = headers['sec-fetch-site'];
      if (site !== undefined && site !== 'same-origin') throw crossOrigin(`Sec-Fetch-Site is ${String(site).slice(0, 20)}`);
      const { origin } = headers;
      if (origin === undefined) throw crossOrigin('Origin is missing');
      const forwarded = behindProxy ? headers['x-forwarded-host'] : undefined;
      const hosts = [headers.host ?? '', ...namesIn(forwarded)];
      const isOwn = origin === publicUrl || hosts.some((host) => isOrigin(origin, scheme, host.toLowerCase()));
      if (!isOwn)
        throw crossOrigin(`Origin is not the address of this server; ${remedyOf(origin, { isTls, behindProxy, publicUrl })}`);
    },
  };
}

/**
 * What can be done if a page at another address of this server sends a request. If the server or its proxy uses TLS, a page that was loaded
 * over HTTP cannot work, because its browser may not store the session's cookie. A page that was loaded over HTTPS has the right scheme, so
 * the host differs: a proxy has probably changed it.
 */
function remedyOf(origin: string, { isTls, behindProxy, publicUrl }: AddressFacts): string {
  if (publicUrl !== undefined) return `open the portal at ${publicUrl}, which COUNTERSIGN_PUBLIC_URL names`;
  if (isTls && origin.startsWith('http:'))
    return `open the portal with https://${behindProxy ? ', because COUNTERSIGN_BEHIND_PROXY is true' : ''}`;
  return 'if a proxy changes the header Host, set COUNTERSIGN_PUBLIC_URL to the address that people use';
}

function isOrigin(origin: string, scheme: string, host: string): boolean {
  const address = `${scheme}//${host}`;
  return URL.canParse(address) && URL.canParse(origin) && new URL(address).origin === new URL(origin).origin;
}

const crossOrigin = (reason: string): ApiError =>
  new ApiError('cross_origin', [
    { path: '', code: 'bad_header', message: `only the portal's own pages can request changes: ${reason}` },
  ]);
