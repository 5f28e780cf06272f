import { randomBytes } from 'node:crypto';
import type { Role } from '@countersign/core/portal/route';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { hashPassword } from '../../src/people/password-hash.ts';
import { newSession } from '../../src/people/sessions.ts';
import { insertMembership } from '../../src/storage/memberships.ts';
import { newId } from '../../src/storage/new-id.ts';
import { insertPerson } from '../../src/storage/people.ts';
import { insertSession } from '../../src/storage/sessions.ts';
import type { TestResponse, TestServer } from './test-server.ts';

/** The password of every person that `createPerson` creates. It is hashed once and the hash is reused, to save time. */
export const PASSWORD = 'correct horse battery staple';
let passwordHash: Promise<string> | undefined;

/** A client that calls the portal's API like a browser. It stores its session cookie and sends Origin and Sec-Fetch-Site as browsers do. */
export class Browser {
  readonly url: string;
  cookie: string | undefined;

  constructor(server: Pick<TestServer, 'url'>, cookie?: string) {
    this.url = server.url;
    this.cookie = cookie;
  }

  /**
   * Calls the portal's API with a path after `/api/portal`. A string is sent as the body unchanged, another body as JSON. The given headers
   * replace the browser's own headers; an empty value removes a header.
   */
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<TestResponse> {
    const sentHeaders: Record<string, string> = {
      ...(this.cookie === undefined ? {} : { cookie: this.cookie }),
      ...(method === 'GET' ? {} : { origin: this.url }),
      'sec-fetch-site': 'same-origin',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    };
    const response = await fetch(`${this.url}/api/portal${path}`, {
      method,
      headers: Object.fromEntries(Object.entries(sentHeaders).filter(([, value]) => value !== '')),
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const [stored] = response.headers.getSetCookie();
    if (stored !== undefined) this.cookie = stored.includes('Max-Age=0') ? undefined : stored.split(';')[0];
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }
}

/** A person with an account, and their browser. */
export interface Person {
  id: string;
  email: string;
  browser: Browser;
}

/**
 * Creates a signed-in person.
 * @param roles the person's role in each workspace, by the ID of the workspace.
 */
export async function createPerson(
  server: TestServer,
  roles: Readonly<Record<string, Role>> = {},
  email = `person-${randomBytes(4).toString('hex')}@example.com`,
): Promise<Person> {
  passwordHash ??= hashPassword(PASSWORD);
  const { pool } = server.open;
  const person = { id: newId(), email, name: email.split('@')[0]!, password: await passwordHash };
  const { token, row } = newSession(person.id, null);
  const anyTenant = '00000000-0000-0000-0000-000000000000';
  await inTenantTransaction(pool, anyTenant, async (tx) => {
    await insertPerson(tx, person);
    await insertSession(tx, row);
  });
  for (const [workspace, role] of Object.entries(roles)) {
    await inTenantTransaction(pool, workspace, (tx) => insertMembership(tx, person.id, role));
  }
  return { id: person.id, email, browser: new Browser(server, `countersign=${token}`) };
}
