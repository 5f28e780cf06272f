import { beforeAll, describe, expect, test } from 'vitest';
import { isEmailAddress, normalizeEmail } from '../../src/people/email-address.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let admin: Person;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  admin = await createPerson(server, { [workspace]: 'admin' });
});

const rejectionOf = ({ status, body }: TestResponse) => [status, body.issues.map(({ path }: { path: string }) => path)];

/** An address that grows when it is lowercased: each İ becomes an i and a combining dot. */
const GROWING_ADDRESS = `a@${'\u0130'.repeat(200)}.example`;

describe('an email address', () => {
  test.each([
    ['a character that PostgreSQL cannot store', 'a\u0000b@example.com'],
    ['a control character', 'a\u0007b@example.com'],
    ['a bidirectional control character', 'a\u202eb@example.com'],
    ['an invisible character', 'a\u200bb@example.com'],
    ['an invisible character in the domain', 'a@exam\u00adple.com'],
    ['a variation selector', 'ada\ufe0f@example.com'],
    ['a Hangul filler', 'ada\u3164@example.com'],
    ['a combining grapheme joiner in the domain', 'a@exam\u034fple.com'],
    ['half a surrogate pair', 'a\ud800@example.com'],
    ['a separator after normalization', 'a@b\u037e.example'],
    ['too many characters after lowercasing', GROWING_ADDRESS],
  ])('with %s is rejected at its field on sign-in and invitation', async (_what, email) => {
    const signIn = await new Browser(server).call('POST', '/session', { email, password: PASSWORD });
    expect(rejectionOf(signIn)).toEqual([422, ['/email']]);
    const invite = await admin.browser.call('POST', `/workspaces/${workspace}/invitations`, { email, role: 'viewer' });
    expect(rejectionOf(invite)).toEqual([422, ['/email']]);
  });

  test.each([
    'ada@example.com',
    'Ada.Lovelace+ledger@sub.example.co.uk',
    'jörg@münchen.example',
    '用户@例子.公司',
    ' ada@example.com ',
  ])('%s is valid', (email) => expect(isEmailAddress(email)).toBe(true));

  test('in another letter case or Unicode normalization is the same account', async () => {
    const { email, id } = await createPerson(server, {}, 'zo\u00eb.kelvin@example.com');
    for (const typed of ['ZO\u00cb.KELVIN@EXAMPLE.COM', 'zoe\u0308.kelvin@example.com', ' zo\u00eb.\u212aelvin@example.com']) {
      expect(normalizeEmail(typed)).toBe(email);
      const { body } = await new Browser(server).call('POST', '/session', { email: typed, password: PASSWORD });
      expect(body.person.id).toBe(id);
    }
  });

  test('is the same account if lowercasing produces characters that normalization composes', async () => {
    const { id } = await createPerson(server, {}, 'ma\u0390@example.com');
    for (const typed of ['MA\u0399\u0308\u0301@EXAMPLE.COM', 'MA\u03aa\u0301@example.com']) {
      expect(normalizeEmail(normalizeEmail(typed))).toBe(normalizeEmail(typed));
      const { body } = await new Browser(server).call('POST', '/session', { email: typed, password: PASSWORD });
      expect(body.person?.id).toBe(id);
    }
  });
});
