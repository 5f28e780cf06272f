import { beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { Browser, PASSWORD } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await testServer();
  environment = { ...environmentOf(server), COUNTERSIGN_PUBLIC_URL: 'https://countersign.example.com/' };
});

const run = (...args: string[]) => runCommand(environment, ...args);
const LINK = /^https:\/\/countersign\.example\.com\/link#([\w-]{43})$/;
const tokenOf = (text: string) => LINK.exec(text.trim())![1]!;
const useLink = (browser: Browser, purpose: string, body: object) => browser.call('POST', `/links/${purpose}`, body);

describe('the members commands', () => {
  test('workspace create prints only the ID on stdout and the link for the first admin on stderr', async () => {
    const { status, out, err } = await run('workspace', 'create', '--name', 'acme');
    expect([status, out]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
    const link = err.match(/https:\S+/)![0];
    const form = { token: tokenOf(link), email: 'admin@example.com', name: 'Admin', password: PASSWORD };
    expect((await useLink(new Browser(server), 'set-up', form)).body.memberships).toMatchObject([
      { workspace: { id: out.trim() }, role: 'admin' },
    ]);
    const jsonResult = await run('workspace', 'create', '--name', 'other', '--json');
    expect(JSON.parse(jsonResult.out)).toEqual({
      id: expect.any(String),
      name: 'other',
      set_up_link: expect.stringMatching(LINK),
    });
  });

  test('members invite prints only a link, and members list shows who accepted it', async () => {
    const invited = await run('members', 'invite', '--workspace', 'acme', '--email', 'Grace@Example.com', '--role', 'approver');
    expect([invited.status, invited.out]).toEqual([0, expect.stringMatching(new RegExp(LINK.source.replace('$', '\\n$')))]);
    await useLink(new Browser(server), 'accept-invitation', { token: tokenOf(invited.out), name: 'Grace', password: PASSWORD });
    expect(JSON.parse((await run('members', 'list', '--workspace', 'acme', '--json')).out)).toMatchObject([
      { name: 'Admin', email: 'admin@example.com', role: 'admin' },
      { name: 'Grace', email: 'grace@example.com', role: 'approver' },
    ]);
    expect((await run('members', 'list', '--workspace', 'acme')).out).toMatch(/^NAME +EMAIL +ROLE +JOINED +PERSON ID\n/);
  });

  test('members reset-password prints a link that sets a new password', async () => {
    const { out } = await run('members', 'reset-password', '--email', 'grace@example.com');
    const response = await useLink(new Browser(server), 'reset-password', {
      token: tokenOf(out),
      password: 'another good password',
    });
    expect(response.body.person.name).toBe('Grace');
  });

  test('members add creates a member without a password who signs in with the link', async () => {
    const { out } = await run('members', 'add', '--workspace', 'acme', '--email', 'guest@example.com', '--role', 'viewer');
    const browser = new Browser(server);
    const response = await useLink(browser, 'sign-in', { token: tokenOf(out) });
    expect(response.body).toMatchObject({
      person: { email: 'guest@example.com', name: 'guest@example.com', has_password: false },
      memberships: [{ workspace: { name: 'acme' }, role: 'viewer' }],
    });
    expect((await browser.call('GET', '/session')).status).toBe(200);
    const repeated = await run('members', 'add', '--workspace', 'acme', '--email', 'guest@example.com', '--role', 'admin');
    expect([repeated.status, repeated.err]).toEqual([9, expect.stringContaining('a member of the workspace already')]);
    expect((await useLink(new Browser(server), 'sign-in', { token: tokenOf(out) })).status).toBe(410);
  });

  test('an invitation cannot take over an account without a password', async () => {
    const { out } = await run('members', 'invite', '--workspace', 'other', '--email', 'guest@example.com', '--role', 'viewer');
    const form = { token: tokenOf(out), name: 'Thief', password: PASSWORD };
    expect((await useLink(new Browser(server), 'accept-invitation', form)).body.error).toBe('refused');
  });

  test('the ledger records the operator and no email address', async () => {
    const rows = await server.database.sql<{ recorded_by: string; action: string; document: string }>(
      'SELECT recorded_by, action, document FROM countersign.audit_entries ORDER BY tenant_id, seq',
    );
    expect(rows.filter(({ recorded_by }) => recorded_by === 'operator').map(({ action }) => action)).toEqual([
      'member.invited',
      'member.password_reset',
      'member.joined',
      'member.invited',
    ]);
    expect(rows.map(({ document }) => document).join('\n')).not.toMatch(/@|example\.com/);
  });

  test.each<[string[], number, RegExp]>([
    [['members', 'invite', '--workspace', 'acme', '--email', 'nobody', '--role', 'viewer'], 2, /email address/],
    [['members', 'invite', '--workspace', 'acme', '--email', 'a@b.example', '--role', 'owner'], 2, /viewer, approver, admin/],
    [['members', 'invite', '--workspace', 'nowhere', '--email', 'a@b.example', '--role', 'viewer'], 9, /no workspace/],
    [['members', 'reset-password', '--email', 'stranger@example.com'], 9, /there is no account/],
    [['members', 'add', '--workspace', 'other', '--email', 'grace@example.com', '--role', 'viewer'], 9, /members invite/],
    [
      ['members', 'invite', '--workspace', 'acme', '--email', 'admin@example.com', '--role', 'viewer'],
      9,
      /a member of the workspace already/,
    ],
  ])('%j exits with %i and says why', async (args, status, message) => {
    expect(await run(...args)).toEqual({ status, out: '', err: expect.stringMatching(message) });
  });
});
