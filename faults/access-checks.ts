import { setTimeout as sleep } from 'node:timers/promises';
import { type OpenDatabase, openDatabase } from '../packages/server/src/app/open-database.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../packages/server/test/harness/portal-browser.ts';
import type { TestResponse, TestServer } from '../packages/server/test/harness/test-server.ts';
import type { Cluster } from './cluster.ts';

const REQUEST_TIMEOUT_MS = 20_000;
const PAUSE_MS = 100;

/** Statuses that do not show whether access is granted: 0 while a server is down, and 503 while it cannot reach its database. */
const UNDECIDED_STATUSES = new Set([0, 503]);

/**
 * Signs people in and out and changes keys and members, each on a random server. Checks that every running server applies the change at
 * its next request. Servers may be killed meanwhile.
 */
export class AccessChecks {
  readonly violations: string[] = [];
  /** The number of responses with the expected status, by kind of check. */
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

  /** Starts the checks. They repeat until `stop` is called. */
  static async start(cluster: Cluster): Promise<AccessChecks> {
    return new AccessChecks(cluster, await openDatabase(readConfig(cluster.environment), () => undefined, 'use'));
  }

  /** Finishes the current round of checks. Starts no further round. */
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

  /** Mints a key on a random server and revokes it on a random server. Checks on every server that each change has taken effect. */
  async #checkKey(): Promise<void> {
    const admin = this.#cluster.victim.cookie;
    const keys = `/workspaces/${this.#cluster.victim.tenantId}/keys`;
    const mintResponse = await this.#call(this.#randomUrl(), admin, 'POST', keys, {
      kind: 'live',
      name: 'check',
      scopes: ['audit'],
    });
    if (mintResponse?.status !== 200) return;
    const { key, prefix } = mintResponse.body as { key: string; prefix: string };
    await this.#expectEverywhere('new key', 200, (url) => append(url, key));
    const revokeResponse = await this.#call(this.#randomUrl(), admin, 'POST', `${keys}/${prefix}/revoke`);
    if (revokeResponse?.status === 200) await this.#expectEverywhere('revoked key', 401, (url) => append(url, key));
  }

  /** Signs a member in, signs them out and removes them, each on a random server. Checks the effect of each step on every server. */
  async #checkPerson(): Promise<void> {
    const { tenantId, cookie: admin } = this.#cluster.victim;
    const person = await this.#createMember(tenantId);
    const browser = new Browser({ url: this.#randomUrl() });
    const signInResponse = await callOrUndefined(browser, 'POST', '/session', { email: person.email, password: PASSWORD });
    if (signInResponse?.status === 200) {
      const session = browser.cookie!;
      const sessionStatus = async (url: string) => (await this.#call(url, session, 'GET', '/session'))?.status ?? 0;
      await this.#expectEverywhere('sign-in', 200, sessionStatus);
      const signOutResponse = await this.#call(this.#randomUrl(), session, 'DELETE', '/session');
      if (signOutResponse?.status === 200) await this.#expectEverywhere('sign-out', 401, sessionStatus);
    }
    const removeResponse = await this.#call(this.#randomUrl(), admin, 'DELETE', `/workspaces/${tenantId}/members/${person.id}`);
    if (removeResponse?.status !== 200) return;
    const agentsStatus = async (url: string) =>
      (await this.#call(url, person.browser.cookie!, 'GET', `/workspaces/${tenantId}/agents`))?.status ?? 0;
    // A person's sessions end when the person is removed from their last workspace.
    await this.#expectEverywhere('removed member', 401, agentsStatus);
  }

  #createMember(tenantId: string): Promise<Person> {
    const server = { url: this.#randomUrl(), open: this.#database } as unknown as TestServer;
    return createPerson(server, { [tenantId]: 'viewer' });
  }

  async #expectEverywhere(
    check: keyof AccessChecks['counts'],
    expected: number,
    request: (url: string) => Promise<number>,
  ): Promise<void> {
    for (const { url, port } of this.#cluster.running) {
      const status = await request(url);
      if (status === expected) this.counts[check] += 1;
      else if (!UNDECIDED_STATUSES.has(status))
        this.violations.push(`${check}: status ${status} instead of ${expected} on port ${port}`);
    }
  }

  #randomUrl(): string {
    const urls = this.#cluster.servers.map(({ url }) => url);
    return urls[Math.floor(Math.random() * urls.length)]!;
  }

  /** Calls the portal's API. Returns undefined if there is no response. */
  #call(url: string, cookie: string, method: string, path: string, body?: unknown): Promise<TestResponse | undefined> {
    return callOrUndefined(new Browser({ url }, cookie), method, path, body);
  }
}

const callOrUndefined = (browser: Browser, method: string, path: string, body?: unknown): Promise<TestResponse | undefined> =>
  browser.call(method, path, body).catch(() => undefined);

/** Appends an audit entry. Returns the status of the response; 0 if there is none. */
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
