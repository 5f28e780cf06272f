/**
 * `npm run screenshots [PAGE ...]` saves the pages and dialogs of the portal, or only the named ones, in the folder `screenshots`. PAGE is
 * a name in pages.ts, `first-hour` for the pages of an empty workspace, or `dialogs`. Each is saved at widths of 1280 and 390 pixels, in
 * light and dark colors. The sign-in page and the page of a link are always saved, in one size. The data is from the demo and from
 * demo-data.ts. Review the pictures after a change to the pages.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import pg from 'pg';
import pino from 'pino';
import type { Browser, Page } from 'playwright-core';
import { openDatabase } from '../../../server/src/app/open-database.ts';
import { startServer } from '../../../server/src/app/start-server.ts';
import { readConfig } from '../../../server/src/config/config.ts';
import { inTenantTransaction } from '../../../server/src/database/transaction.ts';
import { insertMembership } from '../../../server/src/storage/memberships.ts';
import { createWorkspace } from '../../../server/src/workspace/create-workspace.ts';
import { mintKey } from '../../../server/src/workspace/ingestion-keys.ts';
import { launchChromium } from '../chromium.ts';
import { backdate, sendDemoData } from './demo-data.ts';
import { listPages } from './pages.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const SIZES = [1280, 390] as const;
const SCHEMES = ['light', 'dark'] as const;
const selectedNames = process.argv.slice(2);

const folder = mkdtempSync(join(tmpdir(), 'countersign-screenshots-'));
chmodSync(folder, 0o755); // When root runs this, PostgreSQL runs as another user and needs access.
const dataDir = join(folder, 'data');
const config = { ...readConfig({ COUNTERSIGN_DATA_DIR: dataDir }), port: 0 };
const database = await openDatabase(config, () => undefined, 'set-up');
const server = await startServer(config, database, pino({ level: 'warn' }));
const url = `http://127.0.0.1:${server.address.port}`;
const browser = await launchChromium();
try {
  const link = await runDemo();
  const [{ id: workspace }] = (await database.lookupPool.query("SELECT id FROM countersign.tenants WHERE name LIKE 'demo-%'"))
    .rows;
  await addDemoData(workspace);
  await saveAllPages(browser, link, workspace);
} finally {
  await browser.close();
  await server.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Runs the demo against this server and returns its sign-in link. */
async function runDemo(): Promise<string> {
  const environment = { ...process.env, COUNTERSIGN_URL: url, COUNTERSIGN_DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'examples/demo/demo.ts')], { env: environment });
  const link = /http\S+\/link#\S+/.exec(stdout)?.[0];
  if (link === undefined) throw new Error('the demo printed no link');
  return link;
}

/** Adds two weeks of data and a pending approval. */
async function addDemoData(workspace: string): Promise<void> {
  const scopes = ['telemetry', 'evaluations', 'audit', 'governance'] as const;
  const key = await mintKey(database.pool, workspace, { name: 'nightly-pipeline', scopes, expiresAt: null }, 'operator');
  const send = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  await sendDemoData(send);
  const embedded = await acquireEmbeddedDatabase({ dataDir, notify: () => undefined });
  const client = new pg.Client(embedded.superuser);
  await client.connect();
  await backdate(client);
  await client.end();
  await embedded.release();
  await send('/api/public/evaluations', {
    name: 'release-2026.48',
    agent_name: 'support-bot',
    status: 'passing',
    pass_rate: 91.5,
    category: 'release',
  });
  await send('/api/public/governance/promotion-check', { agent_name: 'support-bot' });
}

async function saveAllPages(browser: Browser, link: string, workspace: string): Promise<void> {
  const first = await browser.newContext({ baseURL: url });
  const page = await first.newPage();
  await openAndSave(page, '/sign-in', 'sign-in');
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await save(page, 'link');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/w/**');
  await openIncident(page, workspace);
  const emptyWorkspace = await createEmptyWorkspace(page);
  const storageState = await first.storageState();
  for (const width of SIZES) {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({
        baseURL: url,
        storageState,
        colorScheme,
        viewport: { width, height: width === 390 ? 844 : 860 },
      });
      const schemePage = await context.newPage();
      for (const [name, path] of await listPages(context.request, workspace)) {
        if (selectedNames.length === 0 || selectedNames.includes(name))
          await openAndSave(schemePage, path, `${name}-${width}-${colorScheme}`);
      }
      if (selectedNames.length === 0 || selectedNames.includes('first-hour')) {
        for (const path of ['', 'runs', 'ledger', 'keys', 'approvals'])
          await openAndSave(
            schemePage,
            `/w/${emptyWorkspace}/${path}`,
            `first-hour-${path === '' ? 'overview' : path}-${width}-${colorScheme}`,
          );
      }
      await saveDialogs(schemePage, workspace, `${width}-${colorScheme}`);
      await context.close();
    }
  }
}

/** Creates an empty workspace for the signed-in person, and returns its ID. */
async function createEmptyWorkspace(page: Page): Promise<string> {
  const { person } = await (await page.request.get('/api/portal/session')).json();
  const id = await createWorkspace(database.pool, 'a-new-one');
  await inTenantTransaction(database.pool, id, (tx) => insertMembership(tx, person.id, 'admin'));
  return id;
}

/** Opens an incident through the form. */
async function openIncident(page: Page, workspace: string): Promise<void> {
  await page.goto(`/w/${workspace}/incidents`);
  await page.getByRole('button', { name: 'Open incident' }).click();
  await page.getByRole('dialog').getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: 'triage-agent' }).click();
  await page.getByRole('dialog').getByLabel('What happened').fill('Closed 14 urgent tickets as spam over one night.');
  await page.getByRole('dialog').getByRole('button', { name: 'Open incident' }).click();
  await page.getByRole('heading', { name: 'Incident with triage-agent' }).waitFor();
}

/** Saves dialogs and states that need actions: a form with an error, a shown key, a verified ledger, and the menu (at 390 pixels). */
async function saveDialogs(page: Page, workspace: string, suffix: string): Promise<void> {
  if (selectedNames.length > 0 && !selectedNames.includes('dialogs')) return;
  await page.goto(`/w/${workspace}/keys`);
  await page.getByRole('button', { name: 'Mint key', exact: true }).click();
  await page.getByRole('button', { name: 'Mint', exact: true }).click();
  await page.getByText('Must not be empty').waitFor();
  await save(page, `mint-rejected-${suffix}`);
  await page.getByRole('textbox', { name: 'Name' }).fill(`ci-deploy-${suffix}`);
  await page.getByRole('button', { name: 'Mint', exact: true }).click();
  await page.getByText('Copy the key now').waitFor();
  await save(page, `mint-shown-${suffix}`);
  await page.goto(`/w/${workspace}/ledger`);
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('Ledger verified').waitFor();
  await save(page, `ledger-verified-${suffix}`);
  if (suffix.startsWith('390')) {
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await save(page, `menu-${suffix}`);
  }
}

async function openAndSave(page: Page, path: string, name: string): Promise<void> {
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await save(page, name);
}

async function save(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(250); // Wait for fade-in transitions.
  mkdirSync(join(root, 'screenshots'), { recursive: true });
  await page.screenshot({ path: join(root, 'screenshots', `${name}.png`), fullPage: true });
  process.stdout.write(`screenshots/${name}.png\n`);
}
