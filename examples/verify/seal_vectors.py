"""Vectors of sealed heads (docs/formats.md, "Sealed heads"). Made from that page; shares no code with the service."""

import hashlib
import hmac
import struct


def _field(value):
    return struct.pack('>I', len(value)) + value


def _hkdf(secret, info):
    extracted = hmac.new(b'\0' * 32, secret, hashlib.sha256).digest()
    return hmac.new(extracted, info.encode('ascii') + b'\x01', hashlib.sha256).digest()


def _seal(secret, head):
    texts = ['1', head['tenant_id'], head['log'], str(head['size']), head['last_hash'] or '', head['last_moment'] or '']
    text = b''.join(_field(each.encode('ascii')) for each in texts) + _field(bytes.fromhex(head['frontier']))
    key = _hkdf(secret, 'countersign/head-seal/v1|' + head['tenant_id'])
    return {**head, 'message': text.hex(), 'seal': '01' + hmac.new(key, text, hashlib.sha256).hexdigest()}


def seal_vectors(origin, secret, tenant_id, row_hashes):
    """Heads of an empty log, of a chained one, and of one whose rows are not chained; two trees of two sizes."""
    leaf = [hashlib.sha256(b'\x00' + bytes.fromhex(each)).digest() for each in row_hashes[:3]]
    both = hashlib.sha256(b'\x01' + leaf[0] + leaf[1]).digest()
    heads = [
        {'log': 'audit', 'size': 0, 'last_hash': None, 'last_moment': None, 'frontier': ''},
        {'log': 'audit', 'size': 1, 'last_hash': row_hashes[0], 'last_moment': '2026-11-20T09:30:00.000000Z', 'frontier': leaf[0].hex()},
        {'log': 'keys', 'size': 3, 'last_hash': None, 'last_moment': '2026-11-20T09:30:00.123456Z', 'frontier': (both + leaf[2]).hex()},
    ]
    cases = [_seal(secret, {'tenant_id': tenant_id, **head}) for head in heads]
    return {'origin': origin, 'master_secret': secret.hex(), 'cases': cases}
