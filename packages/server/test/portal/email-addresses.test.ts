import { beforeAll, describe, expect, test } from 'vitest';
import { comparedEmail, isEmailAddress } from '../../src/people/email-address.ts';
import { Browser, PASSWORD, person, type Someone } from '../harness/portal-browser.ts';
import { type Answer, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let admin: Someone;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  admin = await person(server, { [workspace]: 'admin' });
});

const refusal = ({ status, body }: Answer) => [status, body.issues.map(({ path }: { path: string }) => path)];

/** Grows when it is made small: each İ becomes an i and a dot. */
const GROWING = `a@${'\u0130'.repeat(200)}.example`;

describe('an e-mail address', () => {
  test.each([
    ['a character that PostgreSQL keeps in no text', 'a\u0000b@example.com'],
    ['a control character', 'a\u0007b@example.com'],
    ['one that turns the text around', 'a\u202eb@example.com'],
    ['one that nobody sees', 'a\u200bb@example.com'],
    ['one that nobody sees, in the domain', 'a@exam\u00adple.com'],
    ['half a character', 'a\ud800@example.com'],
    ['a separator, once it is composed', 'a@b\u037e.example'],
    ['more characters than there may be, once it is in small letters', GROWING],
  ])('with %s is none: refused at its field where one signs in and where one is invited', async (_what, email) => {
    const signIn = await new Browser(server).call('POST', '/session', { email, password: PASSWORD });
    expect(refusal(signIn)).toEqual([422, ['/email']]);
    const invite = await admin.browser.call('POST', `/workspaces/${workspace}/invitations`, { email, role: 'viewer' });
    expect(refusal(invite)).toEqual([422, ['/email']]);
  });

  test.each([
    'ada@example.com',
    'Ada.Lovelace+ledger@sub.example.co.uk',
    'jörg@münchen.example',
    '用户@例子.公司',
    ' ada@example.com ',
  ])('%s is one', (email) => expect(isEmailAddress(email)).toBe(true));

  test('in other letters, or composed in another way, is the same account', async () => {
    const { email, id } = await person(server, {}, 'zo\u00eb.kelvin@example.com');
    for (const typed of ['ZO\u00cb.KELVIN@EXAMPLE.COM', 'zoe\u0308.kelvin@example.com', ' zo\u00eb.\u212aelvin@example.com']) {
      expect(comparedEmail(typed)).toBe(email);
      const { body } = await new Browser(server).call('POST', '/session', { email: typed, password: PASSWORD });
      expect(body.person.id).toBe(id);
    }
  });
});
