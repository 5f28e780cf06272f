import { describe, expect, test } from 'vitest';
import { CONFUSABLES, CONFUSABLES_COUNT } from '../../src/domain/confusables-data.ts';
import { namesLookAlike } from '../../src/domain/name-skeleton.ts';

describe('namesLookAlike', () => {
  test.each([
    ['case', 'Support-Bot', 'support-bot'],
    ['case, where an upper-case letter looks like another letter', 'INVOICE', 'invoice'],
    ['case, where a lower-case letter looks like two letters', 'MEMO', 'memo'],
    ['Cyrillic \u0430 for a', 'support-\u0430gent', 'support-agent'],
    ['Cyrillic capital \u041d for H', '\u041dr-memo', 'Hr-memo'],
    ['Cyrillic capital \u041d for h, and case', '\u041dR-MEMO', 'hr-memo'],
    ['Greek capital \u039d for N', '\u039dightly', 'Nightly'],
    ['a capital I for l', 'paypaI', 'paypal'],
    ['1 for l', 'paypa1', 'paypal'],
    ['0 for O', 'gpt-4O', 'gpt-40'],
    ['rn for m', 'rnemo', 'memo'],
    ['mathematical letters', '\u{1D42C}upport', 'support'],
    ['a no-break space for a space', 'support\u00a0bot', 'support bot'],
    ['two spaces for one', 'support  bot', 'support bot'],
    ['an ideographic space for a space', 'support\u3000bot', 'support bot'],
    ['different white space around an invisible character', 'support\u3000\u200b bot', 'support bot'],
    [
      'full-width letters that Unicode\u2019s table does not list',
      '\uff52e\uff46\uff55\uff4e\uff44-\uff44es\uff4b',
      'refund-desk',
    ],
    ['full-width capitals', '\uff32\uff25\uff26und-desk', 'refund-desk'],
    ['a full-width hyphen', 'refund\uff0ddesk', 'refund-desk'],
    ['a small hyphen', 'refund\ufe63desk', 'refund-desk'],
    ['a Mongolian hyphen', 'refund\u1806desk', 'refund-desk'],
    ['a Unicode hyphen for a hyphen-minus', 'support\u2010bot', 'support-bot'],
    ['case of Cyrillic', '\u041d\u0410\u0419\u0422\u0418', '\u043d\u0430\u0439\u0442\u0438'],
    ['case of Greek with its final sigma', '\u039f\u0394\u039f\u03a3', '\u03bf\u03b4\u03bf\u03c2'],
    ['\u00df for ss, by full case folding', 'Stra\u00dfe', 'STRASSE'],
    ['capital \u1e9e for ss', 'STRA\u1e9eE', 'strasse'],
    [
      'white space at the ends of a name that was registered before such names were rejected',
      ' support-bot\u00a0',
      'support-bot',
    ],
    ['invisible characters in a name that was registered before such names were rejected', 'support\u200b-bot', 'support-bot'],
  ])('is true for names that differ only by %s', (_, a, b) => {
    expect(a).not.toBe(b);
    expect(namesLookAlike(a, b)).toBe(true);
  });

  test.each([
    ['another letter', 'support-bot', 'support-bat'],
    ['i or l in lower case', 'mail', 'mall'],
    ['n or v', 'den', 'dev'],
    ['an accent', 'resume', 'resum\u00e9'],
    ['another order', 'bot-support', 'support-bot'],
    ['another number', 'bot-2', 'bot-3'],
    ['a space between letters', 'support bot', 'supportbot'],
  ])('is false for names that differ by %s', (_, a, b) => expect(namesLookAlike(a, b)).toBe(false));

  test('uses a table with the expected number of confusable characters', () => {
    const sources = CONFUSABLES.split(' ').flatMap((entry) => entry.split(':')[1]!.split('.'));
    expect(sources).toHaveLength(CONFUSABLES_COUNT);
  });
});
