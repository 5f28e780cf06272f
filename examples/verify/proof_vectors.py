"""The golden vectors of trees, checkpoints, proofs and attestations; written to files by make_vectors.py.

The seeds of the Ed25519 keys are published in RFC 8032, so this file contains no secrets.
"""

import hashlib

import attestation
import ed25519
import jcs
import key_events
import log_proof
import merkle
import note
import succession

INSTANCE = 'd7a1e6c0-3b52-4f8e-9c41-0e6b2a7f5d93'
KEY_NAME = f'countersign/{INSTANCE}'
OTHER_TENANT = '9b0e4c61-5a7d-4f23-8c15-2d6e8f0a1b3c'

# RFC 8032, section 7.1: the key of the instance, its successor, and a third key, which is untrusted except in the succession vectors.
SEEDS = {
    'first': bytes.fromhex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'),
    'second': bytes.fromhex('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'),
    'stranger': bytes.fromhex('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7'),
}
RETIRED_AT = '2026-11-20T18:00:00.000Z'


# --- Signing (RFC 8032, 5.1.5 and 5.1.6) ------------------------------------------------------------------------------


def expand_seed(seed):
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], 'little') & ((1 << 254) - 8) | 1 << 254
    return scalar, digest[32:]


def _times_base(scalar):
    return ed25519.encode(ed25519.sum_of_multiples(scalar, ed25519.BASE, 0, ed25519.IDENTITY))


def public_key(seed):
    return _times_base(expand_seed(seed)[0])


def sign(seed, message):
    scalar, prefix = expand_seed(seed)
    key = _times_base(scalar)
    r = int.from_bytes(hashlib.sha512(prefix + message).digest(), 'little') % ed25519.ORDER
    point = _times_base(r)
    k = int.from_bytes(hashlib.sha512(point + key + message).digest(), 'little') % ed25519.ORDER
    return point + ((r + k * scalar) % ed25519.ORDER).to_bytes(32, 'little')


def signature_line(seed, text, name=KEY_NAME):
    data = note.note_id(name, public_key(seed)) + sign(seed, text.encode('utf-8'))
    return f'\u2014 {name} {note.to_base64(data)}\n'


def signed_note(text, *seeds, name=KEY_NAME):
    return f'{text}\n' + ''.join(signature_line(seed, text, name) for seed in seeds)


def checkpoint_text(origin, size, root):
    return f'{origin}\n{size}\n{note.to_base64(root)}\n'


def checkpoint(origin, data, *seeds):
    """The signed checkpoint of the log that has these leaf data."""
    return signed_note(checkpoint_text(origin, len(data), root_of(data)), *(seeds or [SEEDS['first']]))


# --- Trees by the recursive definitions of RFC 6962. Only the hash functions come from merkle.py --------------------


def _split(size):
    return 1 << (size - 1).bit_length() - 1


def root_of(data):
    if not data:
        return merkle.EMPTY_ROOT
    if len(data) == 1:
        return merkle.leaf_hash(data[0])
    k = _split(len(data))
    return merkle.node_hash(root_of(data[:k]), root_of(data[k:]))


def inclusion(index, data):
    """PATH(m, D[n]) of section 2.1.1."""
    if len(data) == 1:
        return []
    k = _split(len(data))
    if index < k:
        return inclusion(index, data[:k]) + [root_of(data[k:])]
    return inclusion(index - k, data[k:]) + [root_of(data[:k])]


def consistency(first, data, whole=True):
    """SUBPROOF(m, D[n], b) of section 2.1.2; without hashes if the first tree is empty or both trees are equal."""
    if first == 0:
        return []
    if first == len(data):
        return [] if whole else [root_of(data)]
    k = _split(len(data))
    if first <= k:
        return consistency(first, data[:k], whole) + [root_of(data[k:])]
    return consistency(first - k, data[k:], False) + [root_of(data[:k])]


def inclusion_text(index, data, signed, extra=None):
    lines = [log_proof.FIRST_LINE] + ([] if extra is None else [f'extra {note.to_base64(extra)}']) + [f'index {index}']
    return '\n'.join(lines + [note.to_base64(node) for node in inclusion(index, data)]) + f'\n\n{signed}'


def consistency_document(log, first, data, signed):
    hashes = [note.to_base64(node) for node in consistency(first, data)]
    return {'log': log, 'first': first, 'second': len(data), 'hashes': hashes, 'checkpoint': signed}


# --- Keys -------------------------------------------------------------------------------------------------------------


def jwk(seed, retired_at=None):
    key = public_key(seed)
    members = {'kty': 'OKP', 'crv': 'Ed25519', 'x': note.to_base64url(key), 'alg': 'EdDSA', 'use': 'sig', 'kid': note.thumbprint(key)}
    members['note_key'] = note.verifier_key(KEY_NAME, key)
    if retired_at is not None:
        members['retired_at'] = retired_at
    return members


def successor(seed, predecessor, signer=None, instance=INSTANCE):
    """The JWK of a key with the signature of its predecessor, or of `signer` instead."""
    kids = [note.thumbprint(public_key(each)) for each in (predecessor, seed)]
    signature = note.to_base64(sign(signer or predecessor, succession.message(instance, *kids)))
    return {**jwk(seed), 'predecessor': kids[0], 'predecessor_signature': signature}


def succession_vectors(origin):
    """The message that the first key signs for the second, the JWKs of these two and of a third key, and invalid JWKs of the second."""
    first, second = SEEDS['first'], SEEDS['second']
    kids = [note.thumbprint(public_key(seed)) for seed in (first, second)]
    text = succession.message(INSTANCE, *kids).decode('ascii')
    return {
        'origin': origin,
        'instance_id': INSTANCE,
        'predecessor': jwk(first),
        'successor': successor(second, first),
        'third': successor(SEEDS['stranger'], second),
        'message': text,
        'signed_by_another': successor(second, first, SEEDS['stranger']),
        'signed_for_another_instance': successor(second, first, None, OTHER_TENANT),
    }


def _key_vectors():
    keys = []
    for what, seed in SEEDS.items():
        key = public_key(seed)
        keys.append(
            {
                'what': what,
                'seed': seed.hex(),
                'public_key': key.hex(),
                'kid': note.thumbprint(key),
                'note_key_id': note.note_id(KEY_NAME, key).hex(),
                'note_key': note.verifier_key(KEY_NAME, key),
                'jwk': jwk(seed),
            }
        )
    return keys


# --- Logs -------------------------------------------------------------------------------------------------------------


def key_event(tenant_id, seq, action, **others):
    event = {
        'version': 2,
        'tenant_id': tenant_id,
        'seq': seq,
        'id': f'b2e1d4c3-000{seq}-4a5b-9c6d-7e8f9a0b1c2d',
        'recorded_at': f'2026-11-20T09:3{seq}:00.000Z',
        'recorded_by': 'operator',
        'action': action,
        'key_id': 'c4d5e6f7-1a2b-4c3d-8e4f-5a6b7c8d9e0f',
        'kind': 'live',
        'prefix': '4f9a02c7d1e6',
        'name': 'ci',
        'scopes': ['telemetry', 'evaluations', 'audit', 'governance'],
        'expires_at': None,
        'credential_sha256': hashlib.sha256(hashlib.sha256(b'a secret').digest()).hexdigest(),
    }
    return {**event, **others}


def key_events_of(tenant_id):
    return [
        key_event(tenant_id, 1, 'minted'),
        key_event(tenant_id, 2, 'minted', key_id='d5e6f7a8-2b3c-4d4e-9f5a-6b7c8d9e0f1a', prefix='0c1d2e3f4a5b', name='Prüfer 😀',
                  scopes=[], expires_at='2027-11-20T00:00:00.000Z', recorded_by='user:6a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d'),
        key_event(tenant_id, 3, 'revoked'),
    ]  # fmt: skip


def _log_vectors(log, tenant_id, data):
    origin = log_proof.origin_of(tenant_id, log)
    signed = [checkpoint(origin, data[:size]) for size in range(len(data) + 1)]
    inclusion_cases = [
        {
            'index': index,
            'size': size,
            'hashes': [node.hex() for node in inclusion(index, data[:size])],
            'text': inclusion_text(index, data[:size], signed[size]),
        }
        for size in range(1, len(data) + 1)
        for index in range(size)
    ]
    consistency_documents = [
        consistency_document(log, first, data[:second], signed[second]) for second in range(len(data) + 1) for first in range(second + 1)
    ]
    return {
        'log': log,
        'origin': origin,
        'leaf_data': [leaf.hex() for leaf in data],
        'leaf_hashes': [merkle.leaf_hash(leaf).hex() for leaf in data],
        'roots': [root_of(data[:size]).hex() for size in range(len(data) + 1)],
        'checkpoints': signed,
        'inclusion': inclusion_cases,
        'consistency': consistency_documents,
    }


def refused_checkpoints(tenant_id, data):
    """Notes that a reader who trusts only the first key must reject, with the error codes of verify.py."""
    origin, root, first = log_proof.origin_of(tenant_id, 'audit'), root_of(data), SEEDS['first']
    good = checkpoint(origin, data)
    encoded = note.to_base64(root)
    text, line = good.split('\n\n')
    raw = note.from_base64(line.rstrip('\n').rpartition(' ')[2])
    s = int.from_bytes(raw[36:], 'little') + ed25519.ORDER
    malleated = note.to_base64(raw[:36] + s.to_bytes(32, 'little'))
    alias = encoded[:-2] + chr(ord(encoded[-2]) + 1) + '='
    assert alias != encoded and note.from_base64(alias) is None

    def other(lines, *seeds):
        return signed_note(lines, *(seeds or [first]))

    return [
        ('unknown_signer', 'signed by a key that is not trusted', checkpoint(origin, data, SEEDS['stranger'])),
        ('unknown_signer', 'signed under another key name', signed_note(text + '\n', first, name='countersign/somebody-else')),
        ('signature_mismatch', 'the size changed', good.replace('\n6\n', '\n5\n')),
        ('signature_mismatch', 'the origin changed', good.replace(tenant_id, OTHER_TENANT)),
        ('signature_mismatch', 's + L instead of s', f'{text}\n\n\u2014 {KEY_NAME} {malleated}\n'),
        ('signature_mismatch', 'a good signature by one key, a bad one by the same key after it',
         good + signature_line(first, 'something else\n')),
        ('bad_note', 'no signature', f'{text}\n\n'),
        ('bad_note', 'no empty line', f'{text}\n{line}'),
        ('bad_note', 'lines ended as on Windows', good.replace('\n', '\r\n')),
        ('bad_note', 'a hyphen instead of the em dash', good.replace('\u2014', '-')),
        ('bad_note', 'the last line feed is missing', good[:-1]),
        ('bad_checkpoint', 'a fourth line', other(f'{origin}\n6\n{encoded}\nextension\n')),
        ('bad_checkpoint', 'two lines', other(f'{origin}\n6\n')),
        ('bad_checkpoint', 'no origin', other(f'\n6\n{encoded}\n')),
        ('bad_checkpoint', 'a size with a leading zero', other(f'{origin}\n06\n{encoded}\n')),
        ('bad_checkpoint', 'a size with a sign', other(f'{origin}\n+6\n{encoded}\n')),
        ('bad_checkpoint', 'a size beyond 2^53 - 1', other(f'{origin}\n9007199254740992\n{encoded}\n')),
        ('bad_checkpoint', 'a root of 31 bytes', other(f'{origin}\n6\n{note.to_base64(root[:31])}\n')),
        ('bad_checkpoint', 'a root whose base64 has stray bits', other(f'{origin}\n6\n{alias}\n')),
        ('bad_checkpoint', 'size 0 with the root of another tree', other(f'{origin}\n0\n{encoded}\n')),
    ]  # fmt: skip


def checkpoint_vectors(origin, tenant_id, row_hashes, decision_digests):
    audit = [bytes.fromhex(row_hash) for row_hash in row_hashes]
    decisions = [bytes.fromhex(digest) for digest in decision_digests]
    events = key_events_of(tenant_id)
    trail = [key_events.leaf_data(event) for event in events]
    audit_origin = log_proof.origin_of(tenant_id, 'audit')
    logs = {'audit': audit, 'decisions': decisions, 'keys': trail}
    return {
        'origin': origin + ' The seeds are those of RFC 8032, section 7.1.',
        'how': 'roots, leaf_data, leaf_hashes and the hashes of inclusion proofs are in hex. roots[n] and checkpoints[n] are those of '
        'size n. inclusion[].text is the tlog-proof. Each member of consistency[] is a proof as the service returns it. The audit log is '
        'that of audit-chain.json. The decisions are the cases of decision.json. The events of the log keys are in key_events. Both keys '
        'sign checkpoint_while_rotating, the second key signs checkpoint_after_rotating, and the first key signs all other checkpoints. A '
        'reader who trusts only the first key must reject each note in refused[].',
        'tenant_id': tenant_id,
        'instance_id': INSTANCE,
        'key_name': KEY_NAME,
        'keys': _key_vectors(),
        'jwks': {'keys': [jwk(SEEDS['first'])]},
        'jwks_while_rotating': {'keys': [jwk(SEEDS['first']), jwk(SEEDS['second'])]},
        'jwks_after_rotating': {'keys': [jwk(SEEDS['second']), jwk(SEEDS['first'], RETIRED_AT)]},
        'checkpoint_while_rotating': checkpoint(audit_origin, audit, SEEDS['first'], SEEDS['second']),
        'checkpoint_after_rotating': checkpoint(audit_origin, audit, SEEDS['second']),
        'header': ', '.join(f'{log};size={len(logs[log])};root=:{note.to_base64(root_of(logs[log]))}:' for log in ('audit', 'decisions')),
        'header_of_empty_logs': ', '.join(f'{log};size=0;root=:{note.to_base64(merkle.EMPTY_ROOT)}:' for log in ('audit', 'decisions')),
        'key_event_prefix': key_events.KEY_EVENT_DOMAIN.decode('ascii'),
        'key_events': [
            {'event': event, 'canonical': jcs.canonicalize(event).decode('utf-8'), 'leaf_data': data.hex()}
            for event, data in zip(events, trail)
        ],
        'logs': [_log_vectors(log, tenant_id, data) for log, data in logs.items()],
        'refused': [{'code': code, 'what': what, 'note': text} for code, what, text in refused_checkpoints(tenant_id, audit)],
    }


# --- Attestations -----------------------------------------------------------------------------------------------------


def envelope(payload, *seeds, payload_type=attestation.PAYLOAD_TYPE):
    message = attestation.pre_authentication_encoding(payload_type, payload)
    return {
        'payload': note.to_base64(payload),
        'payloadType': payload_type,
        'signatures': [{'keyid': note.thumbprint(public_key(seed)), 'sig': note.to_base64(sign(seed, message))} for seed in seeds],
    }


def refused_envelopes(responses):
    """Envelopes that a reader who trusts only the first key must reject, with the error codes of verify.py."""
    allowed, blocked = (attestation.statement(response) for response in responses[:2])
    first = SEEDS['first']
    good, other = (envelope(jcs.canonicalize(statement), first) for statement in (allowed, blocked))
    altered = {**blocked, 'predicate': {**blocked['predicate'], 'allowed': True}}
    swapped = {**blocked, 'subject': allowed['subject']}
    renamed = {**allowed, 'subject': [{**allowed['subject'][0], 'name': blocked['subject'][0]['name']}]}
    spaced = jcs.canonicalize(allowed).replace(b'":', b'": ')
    posing = envelope(jcs.canonicalize(allowed), SEEDS['stranger'])
    posing['signatures'][0]['keyid'] = note.thumbprint(public_key(first))
    return [
        ('signature_mismatch', 'the payload of another decision', {**good, 'payload': other['payload']}),
        ('signature_mismatch', 'allowed changed to true', {**other, 'payload': note.to_base64(jcs.canonicalize(altered))}),
        ('signature_mismatch', 'signed by an untrusted key, with the keyid of the first key', posing),
        ('unknown_signer', 'signed by another key', envelope(jcs.canonicalize(allowed), SEEDS['stranger'])),
        ('signature_mismatch', 'signed without the pre-authentication encoding',
         {**good, 'signatures': [{**good['signatures'][0], 'sig': note.to_base64(sign(first, jcs.canonicalize(allowed)))}]}),
        ('unknown_payload_type', 'another payload type', {**good, 'payloadType': 'application/json'}),
        ('bad_envelope', 'no signature', {**good, 'signatures': []}),
        ('digest_mismatch', 'signed, but the digest in the statement is not that of the decision',
         envelope(jcs.canonicalize(altered), first)),
        ('subject_mismatch', 'signed, but the subject is another decision', envelope(jcs.canonicalize(swapped), first)),
        ('subject_mismatch', 'signed, but the name is of another decision', envelope(jcs.canonicalize(renamed), first)),
        ('not_canonical', 'signed, but not in canonical form', envelope(spaced, first)),
        ('unknown_statement', 'signed, but another type of predicate',
         envelope(jcs.canonicalize({**allowed, 'predicateType': 'urn:countersign:promotion-decision:v2'}), first)),
    ]  # fmt: skip


def attestation_vectors(origin, responses):
    cases = []
    for response in responses:
        payload = jcs.canonicalize(attestation.statement(response))
        cases.append(
            {
                'decision_id': response['decision_id'],
                'response': response,
                'payload': payload.decode('utf-8'),
                'pre_authentication_encoding_sha256': hashlib.sha256(
                    attestation.pre_authentication_encoding(attestation.PAYLOAD_TYPE, payload)
                ).hexdigest(),
                'envelope': envelope(payload, SEEDS['first']),
                'envelope_while_rotating': envelope(payload, SEEDS['first'], SEEDS['second']),
            }
        )
    return {
        'origin': origin + ' The seeds are those of RFC 8032, section 7.1.',
        'how': 'payload is the canonical JSON of the statement. The signature covers the pre-authentication encoding of payloadType and '
        'payload. The decisions are the cases of decision.json. A reader who trusts only the first key must reject each envelope in '
        'refused[].',
        'keys': _key_vectors(),
        'jwks': {'keys': [jwk(SEEDS['first'])]},
        'cases': cases,
        'refused': [{'code': code, 'what': what, 'envelope': refused} for code, what, refused in refused_envelopes(responses)],
    }
