import { expect, test } from 'vitest';
import { containsPersonalData, isPersonal } from '../../src/http/personal-data.ts';

test.each([
  'user-42',
  '4915112345678',
  '+12345',
  '+abc1234567',
  'a@b',
  'a@b.',
  '@b.c',
  '@',
  'a @ b.c',
  'cust+4915112345678',
  '\uff55\uff13',
  '\u7528\u6237-1234567',
])('isPersonal is false for the identifier %s', (text) => {
  expect(isPersonal(text)).toBe(false);
});

test.each([
  'a@b.c',
  'x a@b.c x',
  '+491234',
  'TEL:+49 1234567',
  '+49 1234567 #12',
  '+49 1234567;ext=5;isub=1',
  '\ufe62491234567',
  'a@\uff42.c',
  '+\u0664\u0669\u0661\u0667\u0660\u0661\u0662\u0663',
  '+\u096a\u096f\u0967\u096d\u0966\u0967\u0968',
  'ada@example\u3002com',
  'ada@example\uff61com',
])('isPersonal is true for %s, which contains personal data', (text) => {
  expect(isPersonal(text)).toBe(true);
});

test('isPersonal gives a result for texts of up to 1,024 UTF-16 code units that are slow to match, and false for longer texts', () => {
  for (const text of [' ', '+', 'a', '@', '@a', '\uff20', '\ufdfa', '+1 ', '\u33ff', ';a=', '.'].map((piece) =>
    piece.repeat(1024).slice(0, 1024),
  ))
    for (const whole of [text, `+${text}`, `a@${text}`.slice(0, 1024), `+123456${text}`.slice(0, 1024)])
      expect(typeof isPersonal(whole)).toBe('boolean');
  expect(isPersonal(`a@b.c${'x'.repeat(1024)}`)).toBe(false);
});

test('containsPersonalData finds an email address anywhere in a text of any length', () => {
  for (const length of [0, 500, 1_018, 1_023, 5_000])
    for (const address of ['someone@mail.example', 'a@\uff42.c'])
      expect(containsPersonalData(`${'x '.repeat(length)}${address}${' x'.repeat(length)}`)).toBe(true);
  for (const text of ['user-42 '.repeat(1000), '@'.repeat(5000), 'a@ '.repeat(5000)])
    expect(containsPersonalData(text)).toBe(false);
});

test('containsPersonalData gives a result for texts of a megabyte that are slow to match', () => {
  for (const piece of ['a@', '@a', '+1 ', '.', '\u0300\u0316', '\ufdfa'])
    expect(typeof containsPersonalData(piece.repeat(1_000_000 / piece.length))).toBe('boolean');
});
