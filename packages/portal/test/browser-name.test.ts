import { expect, test } from 'vitest';
import { browserName } from '../src/pages/account/browser-name.ts';

const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const ANDROID = 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  [`${ANDROID} Chrome/142.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
  [`${ANDROID} Chrome/142.0.0.0 Mobile Safari/537.36 EdgA/142.0.0.0`, 'Edge on Android'],
  [`${IPHONE} CriOS/142.0.0.0 Mobile/15E148 Safari/604.1`, 'Chrome on iOS'],
  [`${IPHONE} FxiOS/145.0 Mobile/15E148 Safari/605.1.15`, 'Firefox on iOS'],
  [`${IPHONE} Version/26.1 EdgiOS/142.0.0.0 Mobile/15E148 Safari/605.1.15`, 'Edge on iOS'],
  [`${IPHONE} Version/26.1 Mobile/15E148 Safari/604.1`, 'Safari on iOS'],
])('recognizes the browser of a phone: %s is %s', (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name);
});

test('shortens the header of an unknown browser and cuts no character in two', () => {
  expect(browserName(`${'x'.repeat(38)}😀 and more`)).toBe(`${'x'.repeat(38)}😀…`);
});
