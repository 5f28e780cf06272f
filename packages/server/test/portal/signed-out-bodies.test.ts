import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Browser } from '../harness/portal-browser.ts';
import { type TestResponse, testServer } from '../harness/test-server.ts';

const server = await testServer();
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;

describe('a body of a caller who is not signed in', () => {
  const token = 'A'.repeat(43);
  const escapeCharacters = (text: string) =>
    text
      .split('')
      .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  const longestBody = () => {
    const [label, email] = [
      escapeCharacters('\u{1f600}'.repeat(512)),
      escapeCharacters(`${'a'.repeat(64)}@${'b'.repeat(181)}.example`),
    ];
    const form = {
      token: escapeCharacters(token),
      password: escapeCharacters('x'.repeat(1024)),
      name: label,
      email,
      workspace_name: label,
    };
    return `{${Object.entries(form)
      .map(([member, text]) => `"${member}":"${text}"`)
      .join(',')}}`;
  };

  test('can contain the longest valid input with every character escaped', async () => {
    expect(outcome(await new Browser(server).call('POST', '/links/set-up', longestBody()))).toBe('410 link_not_valid');
  });

  test('is limited to 32 KiB, compressed or not, because anyone can send one', async () => {
    const body = `{${' '.repeat(32 * 1024)}}`;
    const gzip = { 'content-encoding': 'gzip', 'content-type': 'application/json', origin: server.url };
    for (const path of [
      '/session',
      ...['show', 'set-up', 'accept-invitation', 'reset-password', 'sign-in'].map((to) => `/links/${to}`),
    ]) {
      expect(outcome(await new Browser(server).call('POST', path, body))).toBe('413 payload_too_large');
      const compressedResponse = await fetch(`${server.url}/api/portal${path}`, {
        method: 'POST',
        headers: gzip,
        body: gzipSync(body),
      });
      expect(compressedResponse.status).toBe(413);
    }
  });
});
