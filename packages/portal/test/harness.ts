import { randomBytes } from 'node:crypto';
import type { Role } from '@countersign/core/portal/route';
import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';
import { freePort } from '../../../attack/loopback.ts';
import { afterFile } from '../../server/test/harness/after-file.ts';
import { createPerson, type Person } from '../../server/test/harness/portal-browser.ts';
import { paths, type TestServer, testServer } from '../../server/test/harness/test-server.ts';
import { keepWindowsOf, openWindow, type Window } from './window.ts';

// Browsers are slow on a busy machine, and no test here measures speed.
vi.setConfig({ testTimeout: 360_000, hookTimeout: 360_000 });

export { paths };

/** A workspace with a key that has all scopes. The tests of a file share one server. */
export interface Workspace {
  server: TestServer;
  id: string;
  name: string;
  key: string;
  /** Sends an API request with the key. Throws if the request fails. */
  send: (path: string, body: unknown) => Promise<{ id: string } & Record<string, unknown>>;
  /** Signs in a new person with this role and opens a page of the workspace. */
  visit: (
    role: Role,
    path?: string,
    options?: { width?: number; colorScheme?: 'light' | 'dark'; timezoneId?: string },
  ) => Promise<Window & Person>;
}

/** The port of the portal in every test file of this process. If the URL stays the same, windows of earlier files can be used again. */
let port: Promise<number> | undefined;

/** Starts a server. Its browser windows stay open for later test files. Only one such server can run at a time. */
export async function startPortalServer(): Promise<TestServer> {
  port ??= freePort('127.0.0.1');
  const server = await testServer({ port: await port });
  keepWindowsOf(server.url);
  return server;
}

/** The server of the current test file. */
let currentServer: Promise<TestServer> | undefined;

function sharedServer(): Promise<TestServer> {
  if (currentServer === undefined) {
    currentServer = startPortalServer();
    afterFile(() => {
      currentServer = undefined;
    });
  }
  return currentServer;
}

/** Creates a workspace on the server of the test file. */
export async function newWorkspace(name = `acme-${randomBytes(3).toString('hex')}`): Promise<Workspace> {
  const server = await sharedServer();
  const id = await server.workspace(name);
  const key = await server.key(id);
  return {
    server,
    id,
    name,
    key,
    send: async (path, body) => {
      const response = await server.post(path, key, body);
      if (response.status !== 200) throw new Error(`${path} returned ${response.status}: ${JSON.stringify(response.body)}`);
      return response.body;
    },
    visit: async (role, path = '', options = {}) => {
      const someone = await createPerson(server, { [id]: role });
      const window = await openWindow({ baseURL: server.url, cookie: someone.browser.cookie, ...options });
      await window.page.goto(`/w/${id}/${path}`);
      return { ...window, ...someone };
    },
  };
}

/** Registers an agent with an evaluation, sets the agent to high risk and returns its ID. */
export async function createHighRiskAgent({ server, id, send }: Workspace, name: string): Promise<string> {
  await send(paths.evaluations, { name: 'first', agent_name: name, status: 'passing', pass_rate: 95 });
  const admin = await createPerson(server, { [id]: 'admin' });
  const { body } = await admin.browser.call('GET', `/workspaces/${id}/agents?search=${encodeURIComponent(name)}`);
  const agent: string = body.items[0].id;
  const { status } = await admin.browser.call('PATCH', `/workspaces/${id}/agents/${agent}`, { risk_level: 'high' });
  if (status !== 200) throw new Error(`the risk level was not set: ${status}`);
  return agent;
}

/** Waits until the page has a heading and has loaded completely. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count(), { timeout: 20_000 }).toBe(0);
  await page.waitForLoadState('networkidle');
}

/** A script that simulates a return to the tab a minute later, so that the page requests its stale data again. */
export const RETURN_TO_TAB = `(() => {
  const now = Date.now();
  Date.now = () => now + 60_000;
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
})()`;
