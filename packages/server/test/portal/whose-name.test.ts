import { SIGNED_IN_AS } from '@countersign/core/portal/route';
import { beforeAll, describe, expect, test } from 'vitest';
import { addMember } from '../../src/people/add-member.ts';
import { isPersonName } from '../../src/people/person-name.ts';
import { Browser, PASSWORD, person, type Someone } from '../harness/portal-browser.ts';
import { type Answer, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let ada: Someone;
let grace: Someone;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  ada = await person(server, { [workspace]: 'admin' });
  grace = await person(server, { [workspace]: 'admin' });
});

const outcome = ({ status, body }: Answer) => `${status} ${body.issues?.[0]?.message ?? body.error ?? 'ok'}`;

describe("a person's name", () => {
  test.for([
    'Ada Lovelace',
    '李小龍',
    'محمد',
    "Seán O'Neill",
    'B',
    '4711',
    'Operator Smith',
    'Keya',
    'क्‍ष',
    'operator@example.com',
  ])('%s is one', (name) => expect(isPersonName(name)).toBe(true));

  test.for([
    ['of the operator', 'operator'],
    ['of the operator, in other letters that look the same', 'Ｏperator'],
    ['of a key', 'key ci'],
    ['of the gate', 'promotion gate'],
    ['of nobody any more', 'A former member'],
    ['of whoever reads it', 'Ada (you)'],
    ['as rows have it', 'user:0198f1c2'],
    ['of blanks', '   '],
    ['with blanks around it', ' Ada'],
    ['that is not seen', '\u200b'],
    ['that holds what is not seen', 'op\u200berator'],
    ['that turns what follows around', 'Ada \u202eecalevol'],
    ['without letters, digits or symbols', '--'],
  ] as const)('%s is none, wherever it is given', async ([, name]) => {
    const renamed = await ada.browser.call('PATCH', '/account', { name });
    expect([renamed.status, renamed.body.issues[0].path, renamed.body.issues[0].code]).toEqual([422, '/name', 'bad_format']);
    const invited = await ada.browser.call('POST', `/workspaces/${workspace}/invitations`, {
      email: 'n@example.com',
      role: 'viewer',
    });
    const token = invited.body.path.split('#')[1];
    const joined = await new Browser(server).call('POST', '/links/accept-invitation', { token, name, password: PASSWORD });
    expect([joined.status, joined.body.issues[0].path]).toEqual([422, '/name']);
    const added = { email: 'm@example.com', name, role: 'viewer' } as const;
    await expect(addMember(server.open.pool, workspace, added, 'operator')).rejects.toThrow('the name must');
  });
});

describe('a page that shows somebody', () => {
  const mint = (browser: Browser, shown: string) =>
    browser.call(
      'POST',
      `/workspaces/${workspace}/keys`,
      { kind: 'live', name: 'k', scopes: ['audit'] },
      { [SIGNED_IN_AS]: shown },
    );

  test('changes nothing once another one is signed in in the same browser', async () => {
    const before = await server.database.sql('SELECT 1 FROM countersign.key_events');
    expect(outcome(await mint(ada.browser, grace.id))).toMatch(/^409 person-\w+ has signed in/);
    expect(await server.database.sql('SELECT 1 FROM countersign.key_events')).toEqual(before);
    expect(outcome(await mint(ada.browser, ada.id))).toBe('200 ok');
  });
});

test('whoever signs in in a browser ends the session that was there, and no other', async () => {
  const browser = new Browser(server);
  const signIn = (who: Someone) => browser.call('POST', '/session', { email: who.email, password: PASSWORD });
  await signIn(ada);
  const before = browser.cookie;
  expect(outcome(await signIn(grace))).toBe('200 ok');
  expect(outcome(await new Browser(server, before).call('GET', '/session'))).toBe('401 not_signed_in');
  expect(outcome(await ada.browser.call('GET', '/session'))).toBe('200 ok');
});
