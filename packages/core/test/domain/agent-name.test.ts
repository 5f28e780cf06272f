import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { acceptableName, agentNameProblems, hasNameProblem } from '../../src/domain/agent-name.ts';

const codes = (name: string) => agentNameProblems(name).map(({ code }) => code);

describe('agent names', () => {
  test.each([
    ['plain ASCII', 'support-bot v2.1 (eu)'],
    ['a composed letter', 'lettr\u00e9'],
    ['other scripts', '\u30b5\u30dd\u30fc\u30c8 \u0442\u0435\u0441\u0442 \u0643\u0644\u0628'],
    ['a no-break space inside the name', 'support\u00a0bot'],
    ['an emoji with its variation selector', 'bot \u2764\ufe0f'],
    ['two joined emoji', '\u{1F469}\u200d\u{1F4BB} coder'],
    ['a flag written with tag characters', 'bot \u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}'],
    ['an Arabic number sign', 'bot \u06001'],
  ])('accepts %s', (_, name) => expect(codes(name)).toEqual([]));

  test.each([
    ['a zero-width space', 'support\u200bbot', 'invisible_character', 'U+200B ZERO WIDTH SPACE at position 8'],
    ['a joiner between letters', 'a\u200db', 'invisible_character', 'U+200D ZERO WIDTH JOINER at position 2'],
    ['a joiner between emoji that do not join', '\u{1F916}\u200d\u{1F916}', 'invisible_character', 'at position 2'],
    ['a non-joiner', 'a\u200cb', 'invisible_character', 'U+200C'],
    ['a direction override', 'bot\u202etob', 'invisible_character', 'U+202E RIGHT-TO-LEFT OVERRIDE at position 4'],
    ['directional isolates', '\u2066bot\u2069', 'invisible_character', 'U+2066 at position 1, U+2069 at position 5'],
    ['tag characters', 'bot\u{E0061}\u{E0062}', 'invisible_character', 'U+E0061 at position 4, U+E0062 at position 5'],
    ['a soft hyphen', 'sup\u00adport', 'invisible_character', 'U+00AD SOFT HYPHEN at position 4'],
    ['a byte order mark', '\ufeffbot', 'invisible_character', 'U+FEFF BYTE ORDER MARK at position 1'],
    ['a variation selector on a letter', 'bot\ufe0f', 'invisible_character', 'U+FE0F'],
    ['a Hangul filler', 'bot\u3164', 'invisible_character', 'U+3164'],
    ['a line separator', 'a\u2028b', 'invisible_character', 'U+2028'],
    ['the blank Braille pattern', 'a\u2800b', 'invisible_character', 'U+2800'],
    ['a leading space', ' bot', 'white_space_at_end', 'U+0020 SPACE at position 1'],
    ['a trailing space', 'bot ', 'white_space_at_end', 'U+0020 SPACE at position 4'],
    ['a trailing no-break space', 'bot\u00a0', 'white_space_at_end', 'U+00A0 NO-BREAK SPACE at position 4'],
    ['a leading ideographic space', '\u3000bot', 'white_space_at_end', 'U+3000 IDEOGRAPHIC SPACE at position 1'],
    ['a single space', ' ', 'white_space_at_end', 'at position 1'],
    ['a decomposed letter', 'caf e\u0301', 'not_normalized', 'U+0065 at position 5'],
    ['a character that NFC replaces by another', '10 \u212b', 'not_normalized', 'U+212B at position 4'],
    [
      'a zero-width space after emoji, counted in code points',
      '\u{1F600}\u{1F600}\u200bx',
      'invisible_character',
      'at position 3',
    ],
  ])('rejects %s and reports the position', (_, name, code, position) => {
    const problems = agentNameProblems(name);
    expect(problems.map((problem) => problem.code)).toContain(code);
    expect(problems.find((problem) => problem.code === code)!.message).toContain(position);
  });

  test('reports every kind of problem, and at most five positions of invisible characters', () => {
    const problems = agentNameProblems(` e\u0301${'\u200b'.repeat(9)}x`);
    expect(problems.map(({ code }) => code)).toEqual(['invisible_character', 'white_space_at_end', 'not_normalized']);
    expect(problems[0]!.message).toContain('position 8 and 4 more');
  });

  const names = fc.string({
    unit: fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((character) => /^[^\p{Cc}\p{Cs}]$/u.test(character)),
      fc.constantFrom(
        ' ',
        '\u00a0',
        '\u200b',
        '\u200d',
        '\ufe0f',
        '\u0301',
        'e',
        '\u{1F469}',
        '\u{1F4BB}',
        '\u{E0061}',
        '1',
        '\u20e3',
      ),
    ),
    maxLength: 20,
  });

  test('acceptableName returns an accepted name, is idempotent, and keeps an accepted name unchanged', () => {
    fc.assert(
      fc.property(names, (name) => {
        const accepted = acceptableName(name);
        expect(codes(accepted)).toEqual([]);
        expect(acceptableName(accepted)).toBe(accepted);
        if (codes(name).length === 0) expect(accepted).toBe(name);
      }),
      { numRuns: 500 },
    );
  });

  test('accepts any name without invisible characters once it is normalized and trimmed', () => {
    const visible = names.filter((name) => !codes(name).includes('invisible_character'));
    fc.assert(
      fc.property(visible, (name) => {
        const normalized = name.normalize('NFC').replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
        expect(codes(normalized)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

/** Parts of names: emoji, their joiners, modifiers and tags, letters, marks, and characters that are always invisible. */
const PARTS =
  '\u{1F468} \u{1F469} \u{1F3FD} \u{1F3F4} \u{1F1E9} \u{E0067} \u{E0062} \u{E007F} \u2764 \u200d \ufe0f \u20e3 \u200b \u202e \u0600 \u0915 \u094d \u0301 \u1160 1 a';

describe('hasNameProblem', () => {
  test('agrees with agentNameProblems', () => {
    const part = fc.constantFrom(...PARTS.split(' '), ' ', '\u{1F469}\u200d\u2764\ufe0f\u200d\u{1F468}');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 10 }), (parts) => {
        const name = parts.join('');
        expect(hasNameProblem(name)).toBe(agentNameProblems(name).length > 0);
      }),
      { numRuns: 5000 },
    );
  });
});
