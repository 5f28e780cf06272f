import { headSealMessage } from '@countersign/core/domain/head-seal';
import { describe, expect, test } from 'vitest';
import { vectors } from '../../../core/test/vectors.ts';
import { Seals } from '../../src/database/seals.ts';

/** Test vectors made by examples/verify/make_vectors.py, which shares no code with the service. */
const golden = vectors('head-seals');
const seals = new Seals(new Uint8Array(Buffer.from(golden.master_secret, 'hex')));

interface Case {
  tenant_id: string;
  log: string;
  size: number;
  last_hash: string | null;
  last_moment: string | null;
  frontier: string;
  message: string;
  seal: string;
}

const headOf = ({ tenant_id, log, size, last_hash, last_moment, frontier }: Case) => ({
  ...{ tenantId: tenant_id, log, size, lastHash: last_hash, lastMoment: last_moment },
  frontier: new Uint8Array(Buffer.from(frontier, 'hex')),
});

describe.each(golden.cases as Case[])('the head of the log $log with $size entries', (each) => {
  test('has the seal that the independent program computes', () => {
    expect(Buffer.from(headSealMessage(headOf(each))).toString('hex')).toBe(each.message);
    expect(seals.ofHead(headOf(each)).toString('hex')).toBe(each.seal);
    expect(seals.matchesHead(headOf(each), Buffer.from(each.seal, 'hex'))).toBe(true);
  });

  test('is rejected without a seal, or if one member, the seal or the master secret differs', () => {
    const head = headOf(each);
    const seal = Buffer.from(each.seal, 'hex');
    const changedMembers = [
      { tenantId: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f25' },
      { log: 'decisions' },
      { size: head.size + 1 },
      { lastHash: 'ab'.repeat(32) },
      { lastMoment: '2026-11-20T09:30:00.000001Z' },
      { frontier: new Uint8Array(32) },
    ];
    for (const changedMember of changedMembers)
      expect(seals.matchesHead({ ...head, ...changedMember }, seal), JSON.stringify(changedMember)).toBe(false);
    expect(seals.matchesHead(head, null)).toBe(false);
    for (const wrongSeal of [seal.subarray(0, 32), Buffer.concat([seal, Buffer.of(0)]), Buffer.alloc(33), new Uint8Array()])
      expect(seals.matchesHead(head, wrongSeal)).toBe(false);
    expect(new Seals(new Uint8Array(32)).matchesHead(head, seal)).toBe(false);
  });
});
