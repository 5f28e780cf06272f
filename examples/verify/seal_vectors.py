"""The golden vectors of sealed heads and rows; written to files by make_vectors.py."""

import hashlib
import hmac
import struct


def _field(value):
    return struct.pack('>I', len(value)) + value


def _hkdf(secret, info):
    extracted = hmac.new(b'\0' * 32, secret, hashlib.sha256).digest()
    return hmac.new(extracted, info.encode('ascii') + b'\x01', hashlib.sha256).digest()


def _sealed_head(secret, head):
    texts = ['1', head['tenant_id'], head['log'], str(head['size']), head['last_hash'] or '', head['last_moment'] or '']
    text = b''.join(_field(each.encode('ascii')) for each in texts) + _field(bytes.fromhex(head['frontier']))
    key = _hkdf(secret, 'countersign/head-seal/v1|' + head['tenant_id'])
    return {**head, 'message': text.hex(), 'seal': '01' + hmac.new(key, text, hashlib.sha256).hexdigest()}


def head_seal_vectors(origin, secret, tenant_id, row_hashes):
    """Heads of an empty log, of a chained log with one row, and of a log with three rows that are not chained."""
    leaf = [hashlib.sha256(b'\x00' + bytes.fromhex(each)).digest() for each in row_hashes[:3]]
    both = hashlib.sha256(b'\x01' + leaf[0] + leaf[1]).digest()
    heads = [
        {'log': 'audit', 'size': 0, 'last_hash': None, 'last_moment': None, 'frontier': ''},
        {'log': 'audit', 'size': 1, 'last_hash': row_hashes[0], 'last_moment': '2026-11-20T09:30:00.000000Z', 'frontier': leaf[0].hex()},
        {'log': 'keys', 'size': 3, 'last_hash': None, 'last_moment': '2026-11-20T09:30:00.123456Z', 'frontier': (both + leaf[2]).hex()},
    ]
    cases = [_sealed_head(secret, {'tenant_id': tenant_id, **head}) for head in heads]
    return {'origin': origin, 'master_secret': secret.hex(), 'cases': cases}


def _row_field(value):
    """The length of a value, followed by the value. Null is the length 2^32 - 1 without bytes."""
    if value is None:
        return b'\xff\xff\xff\xff'
    return _field(bytes.fromhex(value['hex']) if isinstance(value, dict) else value.encode('utf-8'))


def _sealed_row(secret, row):
    fields = ['1', row['table'], row['tenant_id'], str(row['version'])] + row['values']
    text = b''.join(_row_field(each) for each in fields)
    key = _hkdf(secret, 'countersign/row-seal/v1|' + row['table'] + '|' + row['tenant_id'])
    return {**row, 'message': text.hex(), 'seal': '01' + hmac.new(key, text, hashlib.sha256).hexdigest()}


def row_seal_vectors(origin, secret, tenant_id):
    """Rows with and without a tenant; values that are null, empty, bytes, and text beyond ASCII."""
    person, moment = '7f0c1b9e-2a54-4d3b-8b1f-0e6a5c4d3b2a', '2026-11-20T09:30:00.123456Z'
    rows = [
        ('memberships', tenant_id, [person, 'approver', moment]),
        ('decision_keys', tenant_id, ['dk_1f2e3d4c5b6a', moment, None]),
        ('decision_keys', tenant_id, ['dk_1f2e3d4c5b6a', moment, '2026-11-21T00:00:00.000000Z']),
        ('people', '', [person, 'zo\u00eb@example.com', 'Zo\u00eb \U0001f9fe', None, None]),
        ('people', '', [person, 'zo\u00eb@example.com', 'Zo\u00eb \U0001f9fe', '', None]),
        ('sessions', '', [{'hex': '00' * 32}, '5d1f0c4e-0b6a-4f7c-9d3e-2a1b0c9d8e7f', person, moment, '2026-11-20T21:30:00.123456Z']),
    ]
    cases = [
        _sealed_row(secret, {'table': table, 'tenant_id': tenant, 'version': 1, 'values': values}) for table, tenant, values in rows
    ]
    return {'origin': origin, 'master_secret': secret.hex(), 'cases': cases}
