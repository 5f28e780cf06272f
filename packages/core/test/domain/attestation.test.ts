import { describe, expect, test } from 'vitest';
import {
  attestationHeader,
  attestDecision,
  type Envelope,
  envelopeOfHeader,
  preAuthenticationEncoding,
  publicJwk,
} from '../../src/domain/attestation.ts';
import { decisionDigest, signDecision } from '../../src/domain/decision-signature.ts';
import { openAttestation } from '../../src/domain/open-attestation.ts';
import { digests, keyPair, sha256, verifyEd25519 } from '../node-digests.ts';

const pair = keyPair(new Uint8Array(32).fill(1));
const otherPair = keyPair(new Uint8Array(32).fill(2));
const keyOf = ({ publicKey }: { publicKey: Uint8Array }) => ({ keyid: publicJwk(publicKey, sha256).kid, publicKey });
const signerOf = (each: typeof pair) => ({ keyid: keyOf(each).keyid, sign: each.sign });
const decision = signDecision(
  {
    allowed: false,
    reason: 'no_recent_evaluation',
    decision_id: '0198f1c2-ac30-7e77-8b42-8c3d4e5f6071',
    key_id: 'dk-1',
    timestamp: '2026-11-20T12:00:00.000Z',
    message: 'Küche',
  },
  new Uint8Array(32),
  digests,
);
const digestOf = (signed: Record<string, unknown>) => decisionDigest(signed, digests);
const open = (envelope: unknown, ...keys: (typeof pair)[]) => openAttestation(envelope, keys.map(keyOf), verifyEd25519, digestOf);

describe('attestations (DSSE, in-toto)', () => {
  test('computes the pre-authentication encoding of the DSSE specification', () => {
    const encoded = preAuthenticationEncoding('http://example.com/HelloWorld', new TextEncoder().encode('hello world'));
    expect(new TextDecoder().decode(encoded)).toBe('DSSEv1 29 http://example.com/HelloWorld 11 hello world');
  });

  test('computes the key thumbprint of RFC 8037, appendix A.3', () => {
    const publicKey = new Uint8Array(Buffer.from('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', 'base64url'));
    expect(publicJwk(publicKey, sha256).kid).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
  });

  test('opens an attestation with any key that signed it, and with no other key', () => {
    expect(open(attestDecision(decision, [signerOf(pair)]), pair)).toEqual({ decision, keyid: keyOf(pair).keyid });
    expect(open(attestDecision(decision, [signerOf(pair), signerOf(otherPair)]), otherPair)).toHaveProperty('decision', decision);
    expect(open(attestDecision(decision, [signerOf(pair)]), otherPair)).toHaveProperty(
      'fault',
      'none of the known keys has signed it',
    );
  });

  test('rejects an attestation if all known keys that signed it were retired before the decision', () => {
    const retired = { ...keyOf(pair), retiredAt: '2026-11-20T11:59:59.999Z' };
    const openBy = (...keys: Parameters<typeof openAttestation>[1]) =>
      openAttestation(attestDecision(decision, [signerOf(pair), signerOf(otherPair)]), keys, verifyEd25519, digestOf);
    expect(openBy(retired)).toEqual({ fault: 'the key that signed it was retired before the decision' });
    expect(openBy(retired, keyOf(otherPair))).toEqual({ decision, keyid: keyOf(otherPair).keyid });
    expect(openBy({ ...retired, retiredAt: decision.timestamp })).toHaveProperty('keyid', retired.keyid);
    expect(openBy({ ...retired, retiredAt: 'yesterday' })).toEqual({
      fault: 'the key that signed it was retired before the decision',
    });
    expect(openBy({ ...retired, retiredAt: null })).toHaveProperty('keyid', retired.keyid);
  });

  test('rejects a swapped payload, another payload type, a signature of another envelope and malformed envelopes', () => {
    const envelope = attestDecision(decision, [signerOf(pair)]);
    const allowed = attestDecision({ ...decision, allowed: true }, [signerOf(otherPair)]);
    const withoutValidSignature = [
      { ...envelope, payload: allowed.payload },
      { ...envelope, signatures: allowed.signatures.map(({ sig }) => ({ keyid: keyOf(pair).keyid, sig })) },
    ];
    const malformed: unknown[] = [
      { ...envelope, payloadType: 'application/json' },
      { ...envelope, signatures: [] },
      { ...envelope, signatures: [null] },
      { ...envelope, payload: `${envelope.payload}=` },
      { ...envelope, payload: 7 },
      null,
      'text',
    ];
    for (const altered of withoutValidSignature)
      expect(open(altered, pair), JSON.stringify(altered)).toEqual({ fault: 'none of the known keys has signed it' });
    for (const altered of malformed)
      expect(open(altered, pair), JSON.stringify(altered)).toEqual({
        fault: 'it is not a DSSE envelope of an in-toto statement',
      });
  });

  test('rejects a signed statement whose decision was altered, and one that is not about a decision', () => {
    const envelope = attestDecision({ ...decision, allowed: true }, [signerOf(pair)]);
    expect(open(envelope, pair)).toHaveProperty(
      'fault',
      'response_sha256 in the statement is not the digest of its decision: the decision was altered',
    );
    const payload = new TextEncoder().encode(
      '{"_type":"https://in-toto.io/Statement/v1","predicateType":"other","predicate":{}}',
    );
    const foreign: Envelope = { ...envelope, payload: btoa(String.fromCharCode(...payload)), signatures: [] };
    foreign.signatures = [
      {
        keyid: keyOf(pair).keyid,
        sig: btoa(String.fromCharCode(...pair.sign(preAuthenticationEncoding(envelope.payloadType, payload)))),
      },
    ];
    expect(open(foreign, pair)).toHaveProperty('fault', 'the payload is not a statement about a promotion decision');
  });

  test('rebuilds the envelope from the signatures in the header and the decision in the body', () => {
    const envelope = attestDecision(decision, [signerOf(pair), signerOf(otherPair)]);
    const header = attestationHeader(envelope);
    const altered = { ...decision, message: 'another' };
    expect(envelopeOfHeader(decision, header)).toEqual(envelope);
    expect(open(envelopeOfHeader(altered, header), pair)).toEqual({ fault: 'none of the known keys has signed it' });
  });

  test.each(['', 'true', '"kid"', '"kid";sig=:AA==', '"kid";sig=::', '"k d";sig=:AA==:', '"kid";sig=:AA==:,'])(
    'rejects the header %j',
    (header) => expect(envelopeOfHeader(decision, header)).toBeUndefined(),
  );
});
