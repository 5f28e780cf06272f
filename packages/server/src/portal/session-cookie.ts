import { SESSION_SECONDS } from '../people/sessions.ts';

/**
 * The cookie that a session's token travels in. Where TLS is on it is `__Host-countersign`: a browser takes that name only with Secure,
 * for this host alone and from this host alone. SameSite=Strict: the pages are static and need no cookie, and what they call is called by
 * this site's own pages, so a link from elsewhere loses nothing by it.
 */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;
  readonly #value: RegExp;

  /** @param secure whether browsers reach the server by TLS, its own or a proxy's. On loopback over HTTP, Secure would lose the cookie. */
  constructor(secure: boolean) {
    this.#name = secure ? '__Host-countersign' : 'countersign';
    this.#attributes = `; Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
    this.#value = new RegExp(`(?:^|; *)${this.#name}=([^;]*)`);
  }

  /** The headers that hand a token to the browser. */
  keep(token: string): { 'set-cookie': string } {
    return { 'set-cookie': `${this.#name}=${token}${this.#attributes}; Max-Age=${SESSION_SECONDS}` };
  }

  /** The headers that make the browser forget it. */
  forget(): { 'set-cookie': string } {
    return { 'set-cookie': `${this.#name}=${this.#attributes}; Max-Age=0` };
  }

  /** The token that a request bears, if it bears one. */
  read(cookieHeader: string | undefined): string | undefined {
    return cookieHeader === undefined ? undefined : this.#value.exec(cookieHeader)?.[1];
  }
}
