/**
 * What browsers are told about the portal (OWASP, HTTP Security Response Headers). Sent with every page and every answer of the portal's
 * API; the five endpoints are for machines and have none but nosniff, which every answer has (http/bare-app.ts).
 */

/** May do nothing but be read: answers of the API, and errors. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/**
 * The pages: scripts, styles, pictures and calls of this origin alone, and neither script nor style in the page itself: the pages are
 * built so that Mantine writes none (packages/portal/src/theme).
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

export interface SecurityHeaders {
  page: Readonly<Record<string, string>>;
  api: Readonly<Record<string, string>>;
}

/** @param secure whether browsers reach the server by TLS: only then may they be told never to come without. */
export function securityHeaders({ secure }: { secure: boolean }): SecurityHeaders {
  const both = {
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(secure ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
  return {
    page: { ...both, 'content-security-policy': PAGE },
    api: { ...both, 'content-security-policy': NOTHING, 'cache-control': 'no-store' },
  };
}
