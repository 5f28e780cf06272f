"""The signed promotion decision and the key that signs it (docs/formats.md, "Promotion decision" and "Decision key")."""

import hashlib
import hmac
import json
import re

import forms
import jcs
from verdict import Invalid, text_of

SIGNATURE_ALG = 'HMAC-SHA256'
SIGNATURE_MEMBERS = ('response_sha256', 'signature', 'signature_alg')
# The members that a reader needs to act on a decision, and their types. Other members are allowed, and the digest covers them.
NEEDED_MEMBERS = {
    'allowed': bool,
    'reason': str,
    'timestamp': str,
    'decision_id': str,
    'key_id': str,
    'response_sha256': str,
    'signature': str,
    'signature_alg': str,
}

_HASH = re.compile('[0-9a-f]{64}')


def hkdf_sha256(ikm, salt, info, length):
    """HKDF with SHA-256 (https://www.rfc-editor.org/rfc/rfc5869): extract, then expand."""
    if length > 255 * 32:
        raise ValueError('HKDF-SHA256 gives at most 8160 bytes')
    prk = hmac.new(salt or bytes(32), ikm, hashlib.sha256).digest()
    okm, block, counter = b'', b'', 0
    while len(okm) < length:
        counter += 1
        block = hmac.new(prk, block + info + bytes([counter]), hashlib.sha256).digest()
        okm += block
    return okm[:length]


def decision_key(master_secret, tenant_id, key_id):
    """K, the 32 bytes that sign a tenant's decisions under one key_id."""
    info = f'countersign/decision-key/v1|{tenant_id}|{key_id}'.encode('utf-8')
    return hkdf_sha256(master_secret, b'', info, 32)


def signed_part(response):
    """D: the response without the three members about its signature."""
    return {name: value for name, value in response.items() if name not in SIGNATURE_MEMBERS}


def response_sha256(response):
    return hashlib.sha256(jcs.canonicalize(signed_part(response))).hexdigest()


def signature(key, digest):
    message = f'countersign/decision/v1\n{SIGNATURE_ALG}\n{digest}\n'.encode('ascii')
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def checked_digest(response):
    """Computes the digest of a decision. Raises Invalid if the decision is malformed or its response_sha256 differs.

    Raises JcsError if it has no canonical form.
    """
    _check_shape(response)
    computed = response_sha256(response)
    problems = _digest_problems(response, computed)
    if problems:
        raise Invalid(problems)
    return computed


def verify(data, key):
    """Reads a decision and verifies its digest and signature. Raises Invalid if it is malformed or one of them is wrong."""
    text = text_of(data)
    try:
        response = jcs.read(text)
        _check_shape(response)
        computed = response_sha256(response)
    except jcs.JcsError as error:
        raise Invalid([(error.code, str(error))]) from None
    problems = _digest_problems(response, computed)
    # Uses the computed digest, not the one in the response: a valid signature of another response proves nothing here.
    if not hmac.compare_digest(signature(key, computed), response['signature']):
        problems.append(('signature_mismatch', 'signature does not match: the key is another one, or the response was changed'))
    if problems:
        raise Invalid(problems)
    return response


def _digest_problems(response, computed):
    stated = response['response_sha256']
    if hmac.compare_digest(computed, stated):
        return []
    return [('digest_mismatch', f'response_sha256 does not match: it is {stated}, but the signed members hash to {computed}')]


def _check_shape(response):
    if not isinstance(response, dict):
        raise Invalid([('not_an_object', 'the response is not a JSON object')])
    problems = []
    for name, kind in NEEDED_MEMBERS.items():
        if name not in response:
            problems.append(('missing_member', f'the member {name} is missing'))
        elif not isinstance(response[name], kind):
            problems.append(('wrong_form', f'{name} is not a {"boolean" if kind is bool else "string"}'))
    if not problems and not forms.is_instant(response['timestamp']):
        problems.append(('wrong_form', 'timestamp is not a UTC time with milliseconds'))
    if not problems and 'tenant_id' in response and not forms.is_uuid(response['tenant_id']):
        problems.append(('wrong_form', 'tenant_id is not a UUID in lower case'))
    if problems:
        raise Invalid(problems)
    if response['signature_alg'] != SIGNATURE_ALG:
        stated = json.dumps(response['signature_alg'][:40])
        raise Invalid([('unknown_signature_alg', f'signature_alg is {stated}, not {SIGNATURE_ALG}')])
    for name in ('response_sha256', 'signature'):
        if not _HASH.fullmatch(response[name]):
            problems.append(('wrong_form', f'{name} is not 64 lower-case hex digits'))
    if problems:
        raise Invalid(problems)
