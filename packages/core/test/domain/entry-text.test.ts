import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linkEntries, rowHashOf } from '../../src/domain/audit-chain.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { CanonicalReader, NO_END } from '../../src/domain/canonical-text.ts';
import { ChainVerifier } from '../../src/domain/chain-verifier.ts';
import { digests } from '../node-digests.ts';

const TENANT = '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24';
const DEPTH = 200;

/** The end of the canonical value at the start of the text; NO_END if there is none. */
function endOf(text: string, depth = DEPTH): number {
  const reader = new CanonicalReader();
  return reader.setText(text) ? reader.endOf(0, depth) : NO_END;
}

/** Tokens of JSON, valid and invalid ones, and other characters. */
const fragments = [
  '"',
  '\\',
  '\\n',
  '\\u001f',
  '\\u000a',
  '\\u0041',
  '\\/',
  '\\ud800',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  ' ',
  '\n',
  '\u0000',
];
fragments.push('0', '1', '-', '-0', '.', '.0', 'e', 'E5', '1e400', 'null', 'true', '"a":1,', ',"a":1', 'é', '🦉', '\ud83e', '');
/** Generates the text with up to three characters replaced by a fragment. */
const changedText = (text: string) =>
  fc
    .record({ at: fc.nat(text.length), cut: fc.nat(3), fragment: fc.constantFrom(...fragments) })
    .map(({ at, cut, fragment }) => text.slice(0, at) + fragment + text.slice(at + cut));

const canonicalTexts = fc.json({ maxDepth: 4 }).map((json) => canonicalJson(JSON.parse(json)));

function isCanonical(text: string): boolean {
  try {
    return canonicalJson(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}

describe('reader of canonical text', () => {
  test('reads the canonical text of any value to its end', () => {
    fc.assert(
      fc.property(canonicalTexts, (text) => {
        expect(endOf(text)).toBe(text.length);
      }),
      { numRuns: 500 },
    );
  });

  test('reads a changed text to its end if and only if the text is canonical', () => {
    fc.assert(
      fc.property(canonicalTexts.chain(changedText), (text) => {
        expect(endOf(text) === text.length && text !== '').toBe(isCanonical(text));
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ['a space', '{"a": 1}'],
    ['a repeated member', '{"a":1,"a":1}'],
    ['members out of order', '{"b":1,"a":1}'],
    ['a number with a trailing zero', '1.0'],
    ['an unnecessary exponent', '1e2'],
    ['minus zero', '-0'],
    ['a number with more digits than its canonical form', '0.10000000000000000001'],
    ['a number larger than any double', '1e400'],
    ['a leading zero', '01'],
    ['an unnecessary escape', '"\\u0041"'],
    ['an escaped slash', '"\\/"'],
    ['a long escape that has a short form', '"\\u000a"'],
    ['an escape in upper case', '"\\u001F"'],
    ['an escaped lone surrogate', '"\\ud83e"'],
    ['a lone surrogate', '"\ud83e"'],
    ['a control character', '"\u0001"'],
    ['no closing brackets', '{"a":[1,"b'],
    ['a trailing comma', '[1,]'],
    ['an unknown literal', 'nul'],
    ['no characters', ''],
  ])('rejects text with %s', (_, text) => {
    expect(endOf(text)).not.toBe(text.length);
  });

  test('accepts nesting up to the limit and rejects deeper nesting', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect([endOf(nested(3), 3), endOf(nested(4), 3)]).toEqual([6, NO_END]);
    expect(endOf('{"a":'.repeat(100_000))).toBe(NO_END);
  });
});

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const textOrNull = fc.option(text);
const linkedEntry = fc
  .record({
    actor: text,
    action: text,
    subject: textOrNull,
    rationale: textOrNull,
    trace_id: textOrNull,
    agent_id: fc.option(fc.uuid()),
    metadata: fc.option(fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })),
  })
  .map(({ metadata, ...entry }) => {
    const recorded_at = '2026-11-20T09:30:00.000Z';
    const common = {
      tenant_id: TENANT,
      id: '22222222-2222-4222-8222-222222222222',
      recorded_at,
      recorded_by: 'key:5f0c2a9be671',
    };
    const unlinked = { ...common, framework: null, retention_until: null, ...entry, metadata: metadata && { ...metadata } };
    return linkEntries({ seq: 0, rowHash: null }, [unlinked], digests)[0]!;
  });

const verifier = () => new ChainVerifier(digests, TENANT);
const lineOf = (canonical: string, hash: string) => `${canonical.slice(0, -1)},"row_hash":"${hash}"}`;

describe('chain verifier on the text of a row', () => {
  test('accepts the text of a random or changed entry if and only if it accepts the parsed row', () => {
    fc.assert(
      fc.property(
        linkedEntry.chain(({ canonical }) => fc.oneof(fc.constant(canonical), changedText(canonical))),
        (canonical) => {
          const hash = rowHashOf(canonical, digests);
          const isAccepted = verifier().tryEntry(`before${canonical}after`, 6, hash) === 6 + canonical.length;
          expect(verifier().tryLine(lineOf(canonical, hash))).toBe(isAccepted);
          const parsed = isCanonical(canonical) ? { ...JSON.parse(canonical), row_hash: hash } : undefined;
          expect(isAccepted).toBe(parsed !== undefined && verifier().next(parsed, canonical) === undefined);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('accepts random rows in the form in which they are exported, and reads their actor and trace_id', () => {
    fc.assert(
      fc.property(linkedEntry, ({ entry, canonical, rowHash }) => {
        const chain = verifier();
        expect(chain.tryLine(lineOf(canonical, rowHash))).toBe(true);
        expect(chain.head).toEqual({ seq: 1, rowHash });
        expect(chain.entryText.value('actor')).toBe(entry.actor);
        expect(chain.entryText.value('trace_id')).toBe(entry.trace_id);
      }),
      { numRuns: 300 },
    );
  });

  test('rejects a row with a wrong position, tenant, time, hash or member', () => {
    const unlinked = {
      tenant_id: TENANT,
      id: TENANT,
      recorded_by: 'operator',
      actor: 'a',
      action: 'c',
      subject: null,
      rationale: null,
    };
    const rest = { framework: null, trace_id: null, agent_id: null, retention_until: null, metadata: null };
    const at = (recorded_at: string) => ({ ...unlinked, ...rest, recorded_at });
    const rows = [at('2026-11-20T09:30:00.001Z'), at('2026-11-20T09:30:00.000Z')];
    const [first, earlier] = linkEntries({ seq: 0, rowHash: null }, rows, digests);
    const line = lineOf(first!.canonical, first!.rowHash);
    expect(verifier().tryLine(line)).toBe(true);
    expect(new ChainVerifier(digests, 'another').tryLine(line)).toBe(false);
    expect(new ChainVerifier(digests).tryLine(line)).toBe(false);
    expect(verifier().tryLine(lineOf(earlier!.canonical, earlier!.rowHash))).toBe(false);
    expect(verifier().tryEntry(first!.canonical, 0, 'f'.repeat(64))).toBe(NO_END);
    const chain = verifier();
    expect([chain.tryLine(line), chain.tryLine(line)]).toEqual([true, false]);
    expect(chain.tryLine(lineOf(earlier!.canonical, earlier!.rowHash))).toBe(false);
    for (const other of [
      first!.canonical.replace('"recorded_at":"2026-11-20T09:30:00.001Z"', '"recorded_at":""'),
      first!.canonical.replace('"version":1', '"version":2'),
      first!.canonical.replace('"version":1', '"version":1,"x":1'),
      first!.canonical.replace('"metadata":null', '"metadata":[]'),
      first!.canonical.replace('"actor":"a"', '"actor":null'),
      first!.canonical.replace('"subject":null', '"subject":7'),
      first!.canonical.replace('"recorded_by":"operator"', '"recorded_by":"somebody"'),
      first!.canonical.replace('"agent_id":null', '"agent_id":"refund-agent"'),
      first!.canonical.replace('"retention_until":null', '"retention_until":"never"'),
      first!.canonical.replace(`"id":"${TENANT}"`, '"id":"row-1"'),
      first!.canonical.replace('"subject":null,', ''),
      `${first!.canonical} `,
    ])
      expect(verifier().tryLine(lineOf(other, rowHashOf(other, digests)))).toBe(false);
  });
});
