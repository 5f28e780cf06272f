/**
 * The security headers of the portal (OWASP, HTTP Security Response Headers), for every page and every response of a route of the portal's
 * API. Other responses are for programs and have none of these headers, except Cache-Control: responses of the public API, and errors of
 * requests that reach no route, for example because of an unknown path or a wrong host. The page /docs has its own content security policy
 * (http/app.ts). Every response has X-Content-Type-Options (http/bare-app.ts).
 */

/** For responses of the API, including errors: nothing may be loaded or run. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/**
 * For pages: only scripts, styles, images and calls of this origin, and no inline scripts or styles. Mantine is configured to write no
 * inline styles (packages/portal/src/main.tsx).
 */
const PAGE = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of pages, and headers of responses of the API. */
export interface SecurityHeaders {
  page: Readonly<Record<string, string>>;
  api: Readonly<Record<string, string>>;
}

/** @param isTls whether browsers use TLS. HSTS is set only in that case. */
export function securityHeaders({ isTls }: { isTls: boolean }): SecurityHeaders {
  const commonHeaders = {
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(isTls ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
  return {
    page: { ...commonHeaders, 'content-security-policy': PAGE },
    api: { ...commonHeaders, 'content-security-policy': NOTHING, 'cache-control': 'no-store' },
  };
}
