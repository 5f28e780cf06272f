import { describe, expect, test } from 'vitest';
import { checkpointText, openCheckpoint, originOf, parseCheckpointText, signCheckpoint } from '../../src/domain/checkpoint.ts';
import { formatLogProof, parseLogProof } from '../../src/domain/log-proof.ts';
import { fromBase64, noteVerifierKey, openNote, parseNoteVerifierKey, signNote, toBase64 } from '../../src/domain/signed-note.ts';
import { keyPair, sha256, verifyEd25519 } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

const published = vectors('signed-note');
const seed = fromBase64(published.signer_key.split('+').slice(4).join('+'))!.slice(1);
const peter = { name: 'PeterNeumann', publicKey: fromBase64(published.verifier_key.split('+').slice(2).join('+'))!.slice(1) };
const pair = keyPair(new Uint8Array(32).fill(7));
const key = { name: 'countersign/0198f1c2', publicKey: pair.publicKey };
const signer = { ...key, sign: pair.sign };
const otherKey = { name: key.name, publicKey: keyPair(new Uint8Array(32).fill(8)).publicKey };
const head = { origin: originOf('3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24', 'audit'), size: 42, root: sha256(new Uint8Array([1])) };

describe('signed notes (C2SP)', () => {
  test('reproduces the published note byte for byte and opens it', () => {
    expect(keyPair(seed).publicKey).toEqual(peter.publicKey);
    expect(signNote(published.text, [{ ...peter, sign: keyPair(seed).sign }], sha256)).toBe(published.note);
    expect(openNote(published.note, [peter], verifyEd25519, sha256)).toEqual({ text: published.text, key: peter });
  });

  test('rejects a changed text, a changed signature, an unknown key and a malformed note', () => {
    const cases = [
      published.note.replace('answer', 'Answer'),
      published.note.replace('x08go', 'x08gp'),
      published.note.replace('RyyBwJnAM=', 'RyyBwJnBM='),
      published.note.replace('PeterNeumann', 'Peter'),
      published.note.slice(0, -1),
      published.note.replace('\n\n', '\n'),
      `${published.note}\n`,
      `\u0007${published.note}`,
      published.note.replaceAll('\n', '\r\n'),
      '',
      '\n\n',
    ];
    for (const note of cases)
      expect(openNote(note, [peter], verifyEd25519, sha256), JSON.stringify(note)).toHaveProperty('fault');
    expect(openNote(published.note, [key], verifyEd25519, sha256)).toHaveProperty('fault');
  });

  test('ignores signatures of unknown keys and rejects a note with an invalid signature of a known key', () => {
    const foreign = signNote(published.text, [{ ...otherKey, sign: pair.sign }], sha256).split('\n\n')[1]!;
    expect(openNote(published.note + foreign, [peter], verifyEd25519, sha256)).toHaveProperty('text', published.text);
    expect(openNote(published.note + foreign, [peter, otherKey], verifyEd25519, sha256)).toHaveProperty('fault');
  });

  test('formats and parses the published verifier key and rejects a key whose ID does not match', () => {
    expect(noteVerifierKey(peter, sha256)).toBe(published.verifier_key);
    expect(parseNoteVerifierKey(`${published.verifier_key}\n`, sha256)).toEqual(peter);
    for (const wrong of [
      '',
      published.verifier_key.replace('c74f20a3', 'c74f20a4'),
      published.verifier_key.replace('Peter', 'Paul'),
      published.signer_key,
    ]) {
      expect(parseNoteVerifierKey(wrong, sha256), wrong).toBeUndefined();
    }
  });

  test('opens a note signed by two keys with either key', () => {
    const note = signNote(published.text, [signer, { ...peter, sign: keyPair(seed).sign }], sha256);
    for (const known of [key, peter])
      expect(openNote(note, [known], verifyEd25519, sha256)).toEqual({ text: published.text, key: known });
  });

  test('accepts only canonical base64', () => {
    expect(fromBase64(toBase64(new Uint8Array([0, 255])))).toEqual(new Uint8Array([0, 255]));
    for (const text of ['AP8', 'AP9=', 'AP8=\n', 'AP-_', '*']) expect(fromBase64(text)).toBeUndefined();
  });
});

describe('checkpoints (C2SP tlog-checkpoint) and proofs (C2SP tlog-proof)', () => {
  test('a checkpoint contains origin, size and root, and opens only with the key that signed it', () => {
    const note = signCheckpoint(head, [signer], sha256);
    expect(note.split('\n').slice(0, 3)).toEqual(['countersign/3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24', '42', toBase64(head.root)]);
    expect(openCheckpoint(note, [key], verifyEd25519, sha256)).toEqual({ head, key });
    expect(openCheckpoint(note, [otherKey], verifyEd25519, sha256)).toHaveProperty('fault');
    expect(openCheckpoint(note.replace('\n42\n', '\n43\n'), [key], verifyEd25519, sha256)).toHaveProperty('fault');
  });

  test('each log of a tenant has its own origin', () => {
    expect(new Set((['audit', 'decisions', 'keys'] as const).map((log) => originOf('t', log)))).toEqual(
      new Set(['countersign/t', 'countersign/t/decisions', 'countersign/t/keys']),
    );
  });

  test('rejects malformed checkpoint text', () => {
    const text = checkpointText(head);
    for (const wrong of [
      '',
      text + 'more\n',
      text.replace('42', '042'),
      text.replace('42', '-1'),
      text.replace('42', '99999999999999999'),
      text.replace('42', '4.2'),
      text.slice(0, -1),
      text.replace(toBase64(head.root), 'AP8='),
    ]) {
      expect(parseCheckpointText(wrong), wrong).toBeUndefined();
    }
  });

  test('parses formatted proofs, with or without extra data, and rejects malformed proofs', () => {
    const proof = {
      index: 7,
      hashes: [sha256(new Uint8Array([2])), sha256(new Uint8Array([3]))],
      checkpoint: signCheckpoint(head, [signer], sha256),
    };
    const text = formatLogProof(proof);
    expect(parseLogProof(text)).toEqual(proof);
    expect(parseLogProof(text.replace('\nindex', '\nextra AP8=\nindex'))).toEqual(proof);
    for (const wrong of [
      '',
      text.replace('\nindex', '\nextra !\nindex'),
      text.replace('@v1', '@v2'),
      text.replace('index 7', 'index 07'),
      text.replace('index 7', 'index -7'),
      text.replace(toBase64(proof.hashes[0]!), 'AP8='),
      text.split('\n\n')[0]!,
    ]) {
      expect(parseLogProof(wrong)).toBeUndefined();
    }
  });
});
