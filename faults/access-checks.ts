import { setTimeout as sleep } from 'node:timers/promises';
import { type OpenDatabase, openDatabase } from '../packages/server/src/app/open-database.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../packages/server/test/harness/portal-browser.ts';
import type { Answer, TestServer } from '../packages/server/test/harness/test-server.ts';
import type { Cluster } from './cluster.ts';

const REQUEST_TIMEOUT_MS = 20_000;
const PAUSE_MS = 100;

/** The statuses that a request may get from every server. A server that is being killed or cannot reach its database decides nothing. */
const UNDECIDED = new Set([0, 503]);

/**
 * Signs in, signs out, and changes keys and members on one of several servers, and expects every server to know it at the next request.
 * Servers may be killed meanwhile.
 */
export class AccessChecks {
  readonly violations: string[] = [];
  /** The numbers of responses with the expected status, by what was checked. */
  readonly counts = { 'sign-in': 0, 'sign-out': 0, 'removed member': 0, 'new key': 0, 'revoked key': 0 };
  readonly #cluster: Cluster;
  readonly #database: OpenDatabase;
  readonly #running: Promise<void>;
  #isStopped = false;

  private constructor(cluster: Cluster, database: OpenDatabase) {
    this.#cluster = cluster;
    this.#database = database;
    this.#running = this.#repeat();
  }

  static async start(cluster: Cluster): Promise<AccessChecks> {
    return new AccessChecks(cluster, await openDatabase(readConfig(cluster.environment), () => undefined, 'use'));
  }

  /** Finishes the current checks. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await this.#database.close();
  }

  async #repeat(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#checkKey();
        await this.#checkPerson();
      } catch (error) {
        this.violations.push(String(error));
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Mints a key on one server and revokes it on another. */
  async #checkKey(): Promise<void> {
    const admin = this.#cluster.victim.cookie;
    const keys = `/workspaces/${this.#cluster.victim.tenantId}/keys`;
    const minted = await this.#call(this.#anyUrl(), admin, 'POST', keys, { kind: 'live', name: 'check', scopes: ['audit'] });
    if (minted?.status !== 200) return;
    const { key, prefix } = minted.body as { key: string; prefix: string };
    await this.#expectEverywhere('new key', 200, (url) => append(url, key));
    const revoked = await this.#call(this.#anyUrl(), admin, 'POST', `${keys}/${prefix}/revoke`);
    if (revoked?.status === 200) await this.#expectEverywhere('revoked key', 401, (url) => append(url, key));
  }

  /** Signs a member in on one server, signs out on another, and removes the member on another. */
  async #checkPerson(): Promise<void> {
    const { tenantId, cookie: admin } = this.#cluster.victim;
    const person = await this.#createMember(tenantId);
    const browser = new Browser({ url: this.#anyUrl() });
    const signedIn = await callOrNothing(browser, 'POST', '/session', { email: person.email, password: PASSWORD });
    if (signedIn?.status === 200) {
      const session = browser.cookie!;
      const show = async (url: string) => (await this.#call(url, session, 'GET', '/session'))?.status ?? 0;
      await this.#expectEverywhere('sign-in', 200, show);
      const signedOut = await this.#call(this.#anyUrl(), session, 'DELETE', '/session');
      if (signedOut?.status === 200) await this.#expectEverywhere('sign-out', 401, show);
    }
    const removed = await this.#call(this.#anyUrl(), admin, 'DELETE', `/workspaces/${tenantId}/members/${person.id}`);
    if (removed?.status !== 200) return;
    const list = async (url: string) =>
      (await this.#call(url, person.browser.cookie!, 'GET', `/workspaces/${tenantId}/agents`))?.status ?? 0;
    // A person without any workspace has no session either.
    await this.#expectEverywhere('removed member', 401, list);
  }

  #createMember(tenantId: string): Promise<Person> {
    const server = { url: this.#anyUrl(), open: this.#database } as unknown as TestServer;
    return createPerson(server, { [tenantId]: 'viewer' });
  }

  async #expectEverywhere(
    what: keyof AccessChecks['counts'],
    expected: number,
    request: (url: string) => Promise<number>,
  ): Promise<void> {
    for (const { url, port } of this.#cluster.running) {
      const status = await request(url);
      if (status === expected) this.counts[what] += 1;
      else if (!UNDECIDED.has(status)) this.violations.push(`${what}: status ${status} instead of ${expected} on port ${port}`);
    }
  }

  #anyUrl(): string {
    const urls = this.#cluster.members.map(({ url }) => url);
    return urls[Math.floor(Math.random() * urls.length)]!;
  }

  /** Calls the portal's API. Returns undefined without a response. */
  #call(url: string, cookie: string, method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    return callOrNothing(new Browser({ url }, cookie), method, path, body);
  }
}

const callOrNothing = (browser: Browser, method: string, path: string, body?: unknown): Promise<Answer | undefined> =>
  browser.call(method, path, body).catch(() => undefined);

/** Appends an audit entry. Returns the status; 0 without a response. */
async function append(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/api/public/audit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ actor: 'checks', action: 'test.key' }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  }).catch(() => undefined);
  await response?.arrayBuffer().catch(() => undefined);
  return response?.status ?? 0;
}
