"""Hostile envelopes, decisions and keys."""

import hashlib
import json

import attestation
import decision
import ed25519
import hostile_keys
import jcs
import decision_vectors
import vector_values
import note
import proof_vectors
from hostile_logs import RESPONSE

FIRST = proof_vectors.SEEDS['first']
KEY_NAME = proof_vectors.KEY_NAME
# A point of order 8 (RFC 8032's curve): honest keys and signatures have no component of small order.
ORDER_8 = bytes.fromhex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')
IDENTITY = (1).to_bytes(32, 'little')


def keys():
    """Name and bytes of each key file that the cases use."""
    vkeys = {name: note.verifier_key(KEY_NAME, proof_vectors.public_key(seed)) for name, seed in proof_vectors.SEEDS.items()}
    vkeys['small-order'] = note.verifier_key(KEY_NAME, IDENTITY)
    made = {f'{name}.vkey': f'{text}\n'.encode('ascii') for name, text in vkeys.items() if name != 'stranger'}
    retired = {'keys': [proof_vectors.jwk(FIRST, '2026-11-20T11:00:00.000Z')]}
    made['retired.jwks'] = json.dumps(retired).encode('ascii')
    # Retired at the time of the decision, so the key is still valid for the decision.
    retired_then = {'keys': [proof_vectors.jwk(FIRST, RESPONSE['timestamp'])]}
    made['retired-then.jwks'] = json.dumps(retired_then).encode('ascii')
    # The form of an instant allows a day that does not exist. Such an instant is compared as text.
    no_day = {'keys': [proof_vectors.jwk(FIRST, '2026-11-32T00:00:00.000Z')]}
    made['retired-on-no-day.jwks'] = json.dumps(no_day).encode('ascii')
    made.update(hostile_keys.files())
    decision_key = decision.decision_key(vector_values.MASTER_SECRET, vector_values.TENANT, RESPONSE['key_id'])
    made['decision.key'] = decision_key.hex().encode('ascii')
    return made


def cases():
    return [*_envelopes(), *_payloads(), *_curve(), *_decisions()]


def _case(kind, name, data, verdict='refused', **options):
    return {'name': f'{kind}-{name}', 'kind': kind, 'verdict': verdict, 'row': None, **options, 'data': data}


def _statement(**changed):
    signed = {**RESPONSE, **changed}
    return attestation.statement(decision_vectors.decision_response(signed))


def _envelope(payload, *seeds):
    return proof_vectors.envelope(payload, *(seeds or [FIRST]))


def _envelopes():
    good = _envelope(jcs.canonicalize(_statement()))
    stranger = _envelope(jcs.canonicalize(_statement()), proof_vectors.SEEDS['stranger'])['signatures'][0]
    good_signature = good['signatures'][0]

    def case(name, verdict='refused', **changed):
        return _case('attestation', name, json.dumps({**good, **changed}), verdict)

    def signed_by(name, *signatures, verdict='refused'):
        return case(name, verdict, signatures=list(signatures))

    sig = good_signature['sig']
    yield case('whole', 'valid')
    text = json.dumps(good)
    yield _case('attestation', 'payload-type-twice', text.replace('"payloadType"', '"payloadType": "text/plain", "payloadType"'))
    yield _case('attestation', 'payload-type-twice-alike', text[:-1] + ', "payloadType": "application/vnd.in-toto+json"}')
    yield _case('attestation', 'trailing-text', text + ' {}')
    yield _case('attestation', 'byte-order-mark', '\ufeff' + text)
    yield _case('attestation', 'unknown-member', text[:-1] + ', "more": [1]}', 'valid')
    yield _case('attestation', 'unknown-member-with-a-lone-surrogate', text[:-1] + ', "more": "\\ud800"}')
    yield _case('attestation', 'unknown-member-with-a-surrogate-pair', text[:-1] + ', "more": "\\ud83d\\ude00"}', 'valid')
    yield _case('attestation', 'nested-201', text[:-1] + ', "more": ' + '[' * 200 + ']' * 200 + '}')
    yield signed_by('signature-null-beside-a-good-one', good_signature, None)
    yield signed_by('signature-text-beside-a-good-one', good_signature, 'sig')
    yield signed_by('signature-array-beside-a-good-one', [], good_signature)
    yield signed_by('signature-without-sig-beside-a-good-one', good_signature, {'keyid': good_signature['keyid']})
    yield signed_by('keyid-number-beside-a-good-one', good_signature, {**good_signature, 'keyid': 7})
    yield signed_by('sig-base64url', {**good_signature, 'sig': sig.replace('+', '-').replace('/', '_')})
    yield signed_by('sig-base64url-beside-a-good-one', good_signature, {**good_signature, 'sig': sig.replace('+', '-').replace('/', '_')})
    yield signed_by('sig-without-padding', {**good_signature, 'sig': sig.rstrip('=')})
    yield signed_by('sig-with-newline', {**good_signature, 'sig': sig + '\n'})
    yield signed_by('sig-with-spaces', {**good_signature, 'sig': f' {sig}'})
    yield signed_by('sig-short', {**good_signature, 'sig': note.to_base64(note.from_base64(sig)[:63])})
    yield signed_by('none')
    yield signed_by('101', *[good_signature] * 101)
    yield signed_by('keyid-unknown', {**good_signature, 'keyid': 'another'}, verdict='valid')
    yield signed_by('keyid-absent', {'sig': sig}, verdict='valid')
    yield signed_by('keyid-null', {**good_signature, 'keyid': None})
    yield signed_by('by-a-stranger-beside-a-good-one', stranger, good_signature, verdict='valid')
    yield signed_by('by-a-stranger', stranger)
    yield signed_by('by-a-stranger-as-the-key', {**stranger, 'keyid': good_signature['keyid']})
    yield {**case('by-a-retired-key'), 'key': 'retired.jwks'}
    yield {**case('by-a-key-that-ended-then', 'valid'), 'key': 'retired-then.jwks'}
    yield {**case('by-a-key-that-ended-on-no-day', 'valid'), 'key': 'retired-on-no-day.jwks'}
    slashed = _envelope(jcs.canonicalize(_statement(message='???>>>???')))
    assert '/' in slashed['payload']
    yield _case('attestation', 'payload-with-slash', json.dumps(slashed), 'valid')
    slashed['payload'] = slashed['payload'].replace('+', '-').replace('/', '_')
    yield _case('attestation', 'payload-base64url', json.dumps(slashed))
    yield case('payload-type-other', payloadType='application/json')
    yield case('payload-missing', payload=None)
    yield case('signatures-object', signatures={'0': good_signature})
    yield _case('attestation', 'array', json.dumps([good]))


def _payloads():
    def case(name, statement, verdict='refused'):
        return _case('attestation', name, json.dumps(_envelope(jcs.canonicalize(statement))), verdict)

    whole = _statement()
    canonical = jcs.canonicalize(whole)
    yield case('timestamp-yesterday', _statement(timestamp='yesterday'))
    yield case('timestamp-microseconds', _statement(timestamp='2026-11-20T12:00:00.000000Z'))
    yield case('allowed-text', _statement(allowed='true'))
    yield case('reason-null', _statement(reason=None))
    yield case('statement-with-more', {**whole, 'more': 1})
    yield case('subject-other', {**whole, 'subject': [{**whole['subject'][0], 'name': 'decision:other'}]})
    yield case('two-subjects', {**whole, 'subject': whole['subject'] * 2})
    yield case('predicate-type-other', {**whole, 'predicateType': 'urn:countersign:promotion-decision:v2'})
    yield case('digest-other', {**whole, 'predicate': {**whole['predicate'], 'allowed': False}})
    yield case('predicate-array', {**whole, 'predicate': [whole['predicate']]})
    for name, payload in {
        'payload-with-space': canonical.replace(b'":', b'": '),
        'payload-member-twice': canonical.replace(b'"allowed":true', b'"allowed":false,"allowed":true'),
        'payload-byte-order-mark': b'\xef\xbb\xbf' + canonical,
        'payload-bad-utf8': canonical.replace(b'All four', b'All \xff four'),
    }.items():
        yield _case('attestation', name, json.dumps(_envelope(payload)))


def _curve():
    """Invalid signatures that some libraries accept. A verifier must compute R without the cofactor and compare bytes."""
    payload = jcs.canonicalize(_statement())
    whole = _envelope(payload)
    message = attestation.pre_authentication_encoding(attestation.PAYLOAD_TYPE, payload)

    def case(name, signature, **options):
        signatures = [{'keyid': whole['signatures'][0]['keyid'], 'sig': note.to_base64(signature)}]
        return _case('attestation', f'ed25519-{name}', json.dumps({**whole, 'signatures': signatures}), **options)

    good = note.from_base64(whole['signatures'][0]['sig'])
    beyond = int.from_bytes(good[32:], 'little') + ed25519.ORDER
    yield case('s-beyond-the-order', good[:32] + beyond.to_bytes(32, 'little'))
    yield case('cofactored-only', _signature_with_small_order_part(message))
    yield case('small-order-key', IDENTITY + bytes(32), key='small-order.vkey')


def _signature_with_small_order_part(message):
    """A signature whose R has a component of order 8: its equation holds only if both sides are multiplied by the cofactor."""
    scalar, key = proof_vectors.expand_seed(FIRST)[0], proof_vectors.public_key(FIRST)
    nonce = int.from_bytes(hashlib.sha512(b'hostile' + message).digest(), 'little') % ed25519.ORDER
    mixed = ed25519.add(ed25519.sum_of_multiples(nonce, ed25519.BASE, 0, ed25519.IDENTITY), ed25519.decode(ORDER_8))
    encoded = ed25519.encode(mixed)
    k = int.from_bytes(hashlib.sha512(encoded + key + message).digest(), 'little') % ed25519.ORDER
    return encoded + ((nonce + k * scalar) % ed25519.ORDER).to_bytes(32, 'little')


def _decisions():
    """Decisions that are signed with an HMAC."""
    response = decision_vectors.decision_response({**RESPONSE})
    text = json.dumps(response)

    def changed(name, **members):
        signed = {**RESPONSE, **members}
        return _case('decision', name, json.dumps(decision_vectors.decision_response(signed)))

    yield _case('decision', 'whole', text, 'valid')
    yield changed('timestamp-yesterday', timestamp='yesterday')
    yield changed('allowed-text', allowed='true')
    yield changed('reason-number', reason=1)
    yield _case('decision', 'allowed-twice', text.replace('"allowed": true', '"allowed": false, "allowed": true'))
    yield _case('decision', 'other-algorithm', json.dumps({**response, 'signature_alg': 'HMAC-SHA512'}))
    yield _case('decision', 'signature-upper-case', json.dumps({**response, 'signature': response['signature'].upper()}))
    yield _case('decision', 'signature-array', json.dumps({**response, 'signature': [response['signature']]}))
    yield _case('decision', 'altered', json.dumps({**response, 'required_threshold': 1}))
    zero = json.dumps(decision_vectors.decision_response({**RESPONSE, 'evaluation_age': 0}))
    yield _case('decision', 'minus-zero', zero.replace('"evaluation_age": 0,', '"evaluation_age": -0,'))
    yield _case('decision', 'nested-201', text[:-1] + ', "more": ' + '[' * 200 + ']' * 200 + '}')
