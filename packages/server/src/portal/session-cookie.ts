import { SESSION_SECONDS } from '../people/sessions.ts';

/**
 * The cookie of a session's token. With TLS its name is `__Host-countersign`: browsers accept this prefix only with Secure, and only this
 * host can set and receive the cookie. With SameSite=Strict, links from other sites still work: the pages are static and need no cookie,
 * and only this site's pages call the API.
 */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;
  readonly #value: RegExp;

  /** @param isTls whether browsers use TLS, with the server or a proxy. On loopback over HTTP, some browsers drop a Secure cookie. */
  constructor(isTls: boolean) {
    this.#name = isTls ? '__Host-countersign' : 'countersign';
    this.#attributes = `; Path=/; HttpOnly; SameSite=Strict${isTls ? '; Secure' : ''}`;
    this.#value = new RegExp(`(?:^|; *)${this.#name}=([^;]*)`);
  }

  /** The headers that set the cookie. */
  set(token: string): { 'set-cookie': string } {
    return { 'set-cookie': `${this.#name}=${token}${this.#attributes}; Max-Age=${SESSION_SECONDS}` };
  }

  /** The headers that delete the cookie. */
  delete(): { 'set-cookie': string } {
    return { 'set-cookie': `${this.#name}=${this.#attributes}; Max-Age=0` };
  }

  /** The token in a request's cookie, if any. */
  read(cookieHeader: string | undefined): string | undefined {
    return cookieHeader === undefined ? undefined : this.#value.exec(cookieHeader)?.[1];
  }
}
