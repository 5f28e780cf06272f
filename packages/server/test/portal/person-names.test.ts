import { SIGNED_IN_AS } from '@countersign/core/portal/route';
import { beforeAll, describe, expect, test } from 'vitest';
import { addMember } from '../../src/people/add-member.ts';
import { isPersonName } from '../../src/people/person-name.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let ada: Person;
let grace: Person;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  ada = await createPerson(server, { [workspace]: 'admin' });
  grace = await createPerson(server, { [workspace]: 'admin' });
});

const outcome = ({ status, body }: TestResponse) => `${status} ${body.issues?.[0]?.message ?? body.error ?? 'ok'}`;

describe('the name of a person', () => {
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
    'علی\u200cرضا',
    '葛\u{e0100}城',
    'Ada ❤️',
    'operator@example.com',
  ])('can be %s', (name) => expect(isPersonName(name)).toBe(true));

  test.for([
    ['that means the operator', 'operator'],
    ['that means the operator in look-alike letters', 'Ｏperator'],
    ['that means a key', 'key ci'],
    ['that means the gate', 'promotion gate'],
    ['that means the deletion of old runs', 'Retention'],
    ['that means a former member', 'A former member'],
    ['that means a former member, without the article', 'former member'],
    ['that means a member whose name is not loaded yet', 'member'],
    ['that ends with (you)', 'Ada (you)'],
    ['in the format of recorded_by', 'user:0198f1c2'],
    ['of only blanks', '   '],
    ['with a leading blank', ' Ada'],
    ['of an invisible character', '\u200b'],
    ['with an invisible character', 'op\u200berator'],
    ['that means the operator with a joiner', 'opera\u200ctor'],
    ['that means the operator with a combining grapheme joiner', 'opera\u034ftor'],
    ['that means the operator with a variation selector', 'operator\ufe0f'],
    ['of a Hangul filler', '\u3164'],
    ['of a blank Braille pattern', '\u2800'],
    ['with a bidirectional control character', 'Ada \u202eecalevol'],
    ['without letters, digits or symbols', '--'],
  ] as const)('is rejected by the account page, by an invitation and by `members add`: %s', async ([, name]) => {
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

describe('a page opened by one person', () => {
  const mint = (browser: Browser, shownPersonId: string) =>
    browser.call(
      'POST',
      `/workspaces/${workspace}/keys`,
      { kind: 'live', name: 'k', scopes: ['audit'] },
      { [SIGNED_IN_AS]: shownPersonId },
    );

  test('changes nothing after another person signed in with the same browser', async () => {
    const before = await server.database.sql('SELECT 1 FROM countersign.key_events');
    expect(outcome(await mint(ada.browser, grace.id))).toMatch(/^409 person-\w+ has signed in/);
    expect(await server.database.sql('SELECT 1 FROM countersign.key_events')).toEqual(before);
    expect(outcome(await mint(ada.browser, ada.id))).toBe('200 ok');
  });
});

test('signing in ends the earlier session of the same browser and no other', async () => {
  const browser = new Browser(server);
  const signIn = (who: Person) => browser.call('POST', '/session', { email: who.email, password: PASSWORD });
  await signIn(ada);
  const before = browser.cookie;
  expect(outcome(await signIn(grace))).toBe('200 ok');
  expect(outcome(await new Browser(server, before).call('GET', '/session'))).toBe('401 not_signed_in');
  expect(outcome(await ada.browser.call('GET', '/session'))).toBe('200 ok');
});
