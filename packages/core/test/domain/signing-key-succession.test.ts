import {
  followSuccessors,
  type ListedKey,
  readListedKey,
  successionFault,
  successionMessage,
} from '@countersign/core/domain/signing-key-succession';
import { describe, expect, test } from 'vitest';
import { sha256, verifyEd25519 } from '../../../server/src/crypto/digests.ts';
import { vectors } from '../vectors.ts';

/** Vectors of examples/verify/make_vectors.py, which shares no code with the server. */
const golden = vectors('signing-key-succession');
const checks = { sha256, verify: verifyEd25519 };
const keyOf = (jwk: object): ListedKey => readListedKey(jwk, sha256)!;
const first = keyOf(golden.predecessor);
const second = keyOf(golden.successor);

describe('signature over a successor key', () => {
  test('covers the same bytes as in the independent implementation, and is valid', () => {
    const message = successionMessage(golden.instance_id, first.kid, second.kid);
    expect(Buffer.from(message).toString('utf8')).toBe(golden.message);
    expect(successionFault(second, first.noteKey, checks)).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ['by another key', golden.signed_by_another, /is not by its predecessor/],
    ['for another instance', golden.signed_for_another_instance, /is not by its predecessor/],
    ['that is missing', { ...golden.successor, predecessor_signature: undefined }, /has no signature/],
    [
      'in base64url',
      { ...golden.successor, predecessor_signature: `_${golden.successor.predecessor_signature.slice(1)}` },
      /has no sig/,
    ],
    ['that is too short', { ...golden.successor, predecessor_signature: 'AAAA' }, /has no signature/],
    ['that names another predecessor', { ...golden.successor, predecessor: second.kid }, /does not name/],
    ['that names no predecessor', { ...golden.successor, predecessor: undefined }, /does not name/],
  ])('%s is rejected', (_what, jwk, why) => {
    expect(successionFault(keyOf(jwk), first.noteKey, checks)).toMatch(why);
  });
});

describe('followSuccessors', () => {
  const follow = (listed: unknown[], known = [first.noteKey]) => {
    const { proven, unproven } = followSuccessors(known, listed, checks);
    return { proven: proven.map(({ kid }) => kid), unproven: unproven.map(({ fault }) => fault) };
  };

  test('follows successors in a list in any order', () => {
    const third = keyOf(golden.third);
    expect(follow([golden.third, golden.successor, golden.predecessor])).toEqual({
      proven: [second.kid, third.kid],
      unproven: [],
    });
  });

  test('accepts a key that is listed with a valid and with an invalid signature, in any order, and reports the invalid one', () => {
    const third = keyOf(golden.third);
    const [valid, invalid] = [golden.successor, golden.signed_by_another];
    for (const listed of [
      [valid, invalid],
      [invalid, valid],
    ])
      expect(follow([...listed, golden.third])).toEqual({
        proven: [second.kid, third.kid],
        unproven: [expect.stringMatching(/is not by its predecessor/)],
      });
    expect(follow([valid, valid])).toEqual({ proven: [second.kid], unproven: [] });
  });

  test('stops at an invalid signature and accepts no later key', () => {
    expect(follow([golden.signed_by_another, golden.third])).toEqual({
      proven: [],
      unproven: [expect.stringMatching(/is not by its predecessor/), expect.stringMatching(/is not proven/)],
    });
  });

  test('stops at a reset and reports it', () => {
    const { predecessor: _, predecessor_signature: __, ...unsigned } = golden.successor;
    expect(follow([{ ...unsigned, reset_from: first.kid }])).toEqual({
      proven: [],
      unproven: [expect.stringMatching(/an operator replaced the lost key/)],
    });
  });

  test('ignores malformed list items', () => {
    const { x: _, ...withoutX } = golden.successor;
    expect(follow([null, 7, 'key', [], {}, withoutX, { ...golden.successor, x: first.x }])).toEqual({ proven: [], unproven: [] });
  });
});
