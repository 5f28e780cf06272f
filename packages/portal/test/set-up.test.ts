import { expect, onTestFinished, test } from 'vitest';
import { createSetUpLink, createWorkspaceSetUpLink } from '../../server/src/people/one-time-links.ts';
import { Browser, createPerson, PASSWORD } from '../../server/test/harness/portal-browser.ts';
import type { TestServer } from '../../server/test/harness/test-server.ts';
import { startPortalServer } from './harness.ts';
import { openWindow } from './window.ts';

/** Starts a server without workspaces for the current test. */
async function startEmptyServer(): Promise<TestServer> {
  const server = await startPortalServer();
  onTestFinished(() => server.stop());
  return server;
}

test('the set-up link creates a workspace and its admin, signs the admin in and works only once', async () => {
  const server = await startEmptyServer();
  const link = await createSetUpLink(server.open.pool);
  const { page, pageErrors } = await openWindow({ baseURL: server.url });
  await page.goto(link?.path ?? '');

  await page.getByLabel('Workspace').fill('acme');
  await page.getByLabel('Your name').fill('Ada Lovelace');
  await page.getByLabel('Email address').fill('ada@example');
  await page.getByRole('textbox', { name: 'New password' }).fill('short');
  await page.getByRole('button', { name: 'Create account and sign in' }).click();
  await page.getByText(/Must .*12/).waitFor();
  // The error appears at its field, and the form keeps its input.
  expect(await page.getByLabel('Workspace').inputValue()).toBe('acme');
  expect(await page.getByRole('textbox', { name: 'New password' }).inputValue()).toBe('short');
  expect(await page.getByRole('textbox', { name: 'New password' }).getAttribute('aria-invalid')).toBe('true');

  await page.getByLabel('Email address').fill('ada@example.com');
  await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account and sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/w\/[0-9a-f-]{36}\/?$/);
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  expect(await page.getByRole('button', { name: /^Workspace acme/ }).textContent()).toContain('admin');

  const other = await openWindow({ baseURL: server.url });
  await other.page.goto('/link#%E0%A4%A');
  await other.page.getByText(/was already used, has expired/).waitFor();
  // Pasting a link over another one changes only the fragment of the URL, so the browser does not load the page again.
  const browser = new Browser(server, (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`)[0]);
  const workspace = new URL(page.url()).pathname.split('/')[2];
  const invited = await browser.call('POST', `/workspaces/${workspace}/invitations`, {
    email: 'grace@example.com',
    role: 'viewer',
  });
  await other.page.evaluate(`location.href = ${JSON.stringify(invited.body.path)}`);
  await other.page.getByText('as a viewer', { exact: false }).waitFor();
  await other.page.evaluate(`location.href = ${JSON.stringify(link?.path)}`);
  await other.page.getByText(/was already used, has expired/).waitFor();
  expect([...pageErrors, ...other.pageErrors]).toEqual([]);
});

test('with a set-up link and the password of their account, a person becomes the admin of another workspace', async () => {
  const server = await startEmptyServer();
  const { email } = await createPerson(server, { [await server.workspace('acme')]: 'viewer' });
  const link = await createWorkspaceSetUpLink(server.open.pool, await server.workspace('beta'));
  const { page, pageErrors } = await openWindow({ baseURL: server.url });
  await page.goto(link.path);
  await page.getByText('If you already have an account on this server, enter only its email address and password.').waitFor();
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('textbox', { name: 'Password', exact: true }).fill('not the password at all');
  await page.getByRole('button', { name: 'Become admin and sign in' }).click();
  await page.getByText('Wrong email or password.').waitFor();
  await page.getByRole('textbox', { name: 'Password', exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Become admin and sign in' }).click();
  await page.getByRole('button', { name: 'Workspace beta admin' }).waitFor();
  expect(pageErrors).toEqual([]);
});

test('a person without an account must enter a name to use the set-up link of a workspace', async () => {
  const server = await startEmptyServer();
  const link = await createWorkspaceSetUpLink(server.open.pool, await server.workspace('beta'));
  const { page } = await openWindow({ baseURL: server.url });
  await page.goto(link.path);
  await page.getByLabel('Email address').fill('ada@example.com');
  await page.getByRole('textbox', { name: 'Password', exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Become admin and sign in' }).click();
  await page.getByText('This is required.').waitFor();
  await page.getByLabel('Your name').fill('Ada');
  await page.getByRole('button', { name: 'Become admin and sign in' }).click();
  await page.getByRole('button', { name: 'Workspace beta admin' }).waitFor();
});

test('the sign-in page rejects a wrong password, and after sign-in shows the page that was requested', async () => {
  const server = await startEmptyServer();
  const { page } = await openWindow({ baseURL: server.url });
  await page.goto('/');
  await page.getByText('The operator of a new server gets a set-up link when the server starts').waitFor();
  expect(await page.getByText('Sign in to continue.').count()).toBe(0);
  await page.goto((await createSetUpLink(server.open.pool))?.path ?? '');
  await page.getByLabel('Workspace').fill('acme');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('Email address').fill('ada@example.com');
  await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account and sign in' }).click();
  await page.getByRole('link', { name: 'Audit ledger' }).click();
  await page.getByRole('heading', { name: 'Audit ledger', level: 1 }).waitFor();
  const ledger = page.url();

  const { page: other } = await openWindow({ baseURL: server.url });
  await other.goto(ledger);
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.getByLabel('Email address').fill('ada@example.com');
  await other.getByRole('textbox', { name: 'Password' }).fill('not the password at all');
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.getByText('Wrong email or password.').waitFor();
  expect(await other.getByLabel('Email address').inputValue()).toBe('ada@example.com');
  await other.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  // Enter in the field submits the form.
  await other.keyboard.press('Enter');
  await other.getByRole('heading', { name: 'Audit ledger', level: 1 }).waitFor();
  expect(other.url()).toBe(ledger);
});
