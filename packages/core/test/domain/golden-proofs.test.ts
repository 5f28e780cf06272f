import { describe, expect, test } from 'vitest';
import { attestDecision, publicJwk } from '../../src/domain/attestation.ts';
import { openCheckpoint, originOf, signCheckpoint, type TreeLog } from '../../src/domain/checkpoint.ts';
import { decisionDigest } from '../../src/domain/decision-signature.ts';
import { hashKeyEvent } from '../../src/domain/key-event.ts';
import { formatLogProof, parseLogProof } from '../../src/domain/log-proof.ts';
import { consistencyRanges, inclusionRanges, rootOfInclusion, rootsOfConsistency } from '../../src/domain/merkle-proof.ts';
import { Frontier, leafHash } from '../../src/domain/merkle-tree.ts';
import { openAttestation } from '../../src/domain/open-attestation.ts';
import { fromBase64, noteVerifierKey, parseNoteVerifierKey } from '../../src/domain/signed-note.ts';
import { unsignedHeadText } from '../../src/domain/tree-head-header.ts';
import { digests, keyPair, sha256, verifyEd25519 } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

/** Vectors of the independent implementation, which was written from docs/formats.md only. */
const golden = vectors('checkpoints');
const attestations = vectors('attestation');

interface GoldenKey {
  seed: string;
  public_key: string;
  kid: string;
  note_key: string;
}
interface GoldenLog {
  log: TreeLog;
  origin: string;
  leaf_data: string[];
  roots: string[];
  checkpoints: string[];
  inclusion: { index: number; size: number; hashes: string[]; text: string }[];
  consistency: { first: number; second: number; hashes: string[] }[];
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const hex = (raw: Uint8Array) => Buffer.from(raw).toString('hex');
const signers = (golden.keys as GoldenKey[]).map(({ seed, public_key }) => ({
  name: golden.key_name as string,
  publicKey: bytes(public_key),
  keyid: publicJwk(bytes(public_key), sha256).kid,
  sign: keyPair(bytes(seed)).sign,
}));
const first = signers[0]!;

/**
 * The fault that this implementation reports for each error code of the independent verifier. If one error
 * code stands for several faults, the key is the description of the case.
 */
const CHECKPOINT_FAULTS: Record<string, string> = {
  unknown_signer: 'the checkpoint cannot be trusted: none of the known keys has signed it',
  signature_mismatch: `the checkpoint cannot be trusted: the signature of ${golden.key_name} is wrong`,
  bad_note: 'the checkpoint cannot be trusted: it does not have the form of a signed note',
  'no signature': 'the checkpoint cannot be trusted: a signature line is malformed',
  'a hyphen instead of the em dash': 'the checkpoint cannot be trusted: a signature line is malformed',
  bad_checkpoint: 'the checkpoint is malformed: it must have origin, size and root, each on its own line',
  'size 0 with the root of another tree': 'the checkpoint of an empty log does not have the root of an empty tree',
};

/** Like CHECKPOINT_FAULTS, for attestations. */
const ATTESTATION_FAULTS: Record<string, string> = {
  unknown_signer: 'none of the known keys has signed it',
  signature_mismatch: 'none of the known keys has signed it',
  unknown_payload_type: 'it is not a DSSE envelope of an in-toto statement',
  bad_envelope: 'it is not a DSSE envelope of an in-toto statement',
  digest_mismatch: 'response_sha256 in the statement is not the digest of its decision: the decision was altered',
  subject_mismatch: 'the statement is not in canonical form, or is about another decision than the one it contains',
  not_canonical: 'the statement is not in canonical form, or is about another decision than the one it contains',
  unknown_statement: 'the payload is not a statement about a promotion decision',
};

describe('golden proofs of the independent implementation', () => {
  test('the computed key IDs and note verifier keys equal the golden ones', () => {
    for (const [index, { kid, note_key }] of (golden.keys as GoldenKey[]).entries()) {
      expect(signers[index]!.keyid).toBe(kid);
      expect(noteVerifierKey(signers[index]!, sha256)).toBe(note_key);
      expect(parseNoteVerifierKey(note_key, sha256)?.name).toBe(golden.key_name);
    }
  });

  test.each(golden.logs as GoldenLog[])(
    '$log: the computed origin, roots and signed checkpoints of every size equal the golden ones',
    ({ log, origin, leaf_data, roots, checkpoints }) => {
      expect(originOf(golden.tenant_id, log)).toBe(origin);
      const frontier = new Frontier(sha256);
      for (const [size, root] of roots.entries()) {
        expect(hex(frontier.root())).toBe(root);
        expect(signCheckpoint({ origin, size, root: frontier.root() }, [first], sha256)).toBe(checkpoints[size]);
        if (size < leaf_data.length) frontier.append(bytes(leaf_data[size]!));
      }
    },
  );

  test.each(golden.logs as GoldenLog[])(
    '$log: inclusion proofs lead to the root, and a parsed proof is formatted to the same text',
    ({ leaf_data, roots, inclusion }) => {
      expect(inclusion.length).toBeGreaterThan(0);
      for (const { index, size, hashes, text } of inclusion) {
        expect(hex(rootOfInclusion(index, size, leafHash(bytes(leaf_data[index]!), sha256), hashes.map(bytes), sha256)!)).toBe(
          roots[size],
        );
        expect(inclusionRanges(index, size)).toHaveLength(hashes.length);
        expect(formatLogProof(parseLogProof(text)!)).toBe(text);
        expect(parseLogProof(text)!.hashes.map(hex)).toEqual(hashes);
      }
    },
  );

  test.each(golden.logs as GoldenLog[])('$log: consistency proofs lead to both roots', ({ roots, consistency }) => {
    for (const { first: from, second, hashes } of consistency) {
      const proof = hashes.map((hash) => fromBase64(hash)!);
      expect(consistencyRanges(from, second)).toHaveLength(proof.length);
      if (from === 0 || from === second) continue;
      const computed = rootsOfConsistency(from, second, bytes(roots[from]!), proof, sha256)!;
      expect([hex(computed.first), hex(computed.second)]).toEqual([roots[from], roots[second]]);
    }
  });

  test('the computed hashes of key events equal the golden ones', () => {
    expect(golden.key_events.length).toBeGreaterThan(0);
    const keys = (golden.logs as GoldenLog[]).find(({ log }) => log === 'keys')!;
    for (const [index, { event }] of golden.key_events.entries())
      expect(hashKeyEvent(event, digests).hash).toBe(keys.leaf_data[index]);
  });

  test('the computed header Countersign-Checkpoint with two heads equals the golden one', () => {
    const heads = (['audit', 'decisions'] as const).map((log) => {
      const { roots } = (golden.logs as GoldenLog[]).find((each) => each.log === log)!;
      return unsignedHeadText(log, roots.length - 1, bytes(roots.at(-1)!));
    });
    expect(heads.join(', ')).toBe(golden.header);
  });

  test.each(golden.refused as { note: string; what: string; code: string }[])(
    'the checkpoint is rejected for the same reason as by the independent verifier: $what',
    ({ note, what, code }) => {
      const fault = CHECKPOINT_FAULTS[what] ?? CHECKPOINT_FAULTS[code];
      expect(openCheckpoint(note, [first], verifyEd25519, sha256)).toEqual({ fault });
    },
  );

  test.each(attestations.refused as { envelope: unknown; what: string; code: string }[])(
    'the attestation is rejected for the same reason as by the independent verifier: $what',
    ({ envelope, code }) => {
      expect(openAttestation(envelope, [first], verifyEd25519, (signed) => decisionDigest(signed, digests))).toEqual({
        fault: ATTESTATION_FAULTS[code],
      });
    },
  );

  test('valid attestations are accepted, and those that only the first key signed are reproduced exactly', () => {
    expect(attestations.cases.length).toBeGreaterThan(0);
    const key = { keyid: first.keyid, publicKey: first.publicKey };
    for (const { envelope, what } of attestations.cases) {
      const decision = JSON.parse(Buffer.from(envelope.payload, 'base64').toString()).predicate;
      const opened = openAttestation(envelope, signers, verifyEd25519, (signed) => decisionDigest(signed, digests));
      expect(opened, what).toMatchObject({ decision });
      if (envelope.signatures.length === 1 && envelope.signatures[0].keyid === key.keyid)
        expect(attestDecision(decision, [first])).toEqual(envelope);
    }
  });
});
