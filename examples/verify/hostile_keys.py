"""Hostile key lists and trust files, with valid and invalid signatures of keys over their successors."""

import json

import vector_values
import proof_vectors

FIRST, SECOND, STRANGER = (proof_vectors.SEEDS[what] for what in ('first', 'second', 'stranger'))
RETIRED_AT = '2026-11-20T18:00:00.000Z'


def _key_files():
    """Yields each case: its name, the verdict on a checkpoint that the second key signed, and the value or text of its key file."""
    first, second = proof_vectors.jwk(FIRST), proof_vectors.successor(SECOND, FIRST)
    forged = proof_vectors.successor(SECOND, FIRST, STRANGER)
    unsigned = {name: value for name, value in second.items() if name != 'predecessor_signature'}
    reset = {**proof_vectors.jwk(SECOND), 'reset_from': first['kid']}
    yield 'whole.jwks', 'valid', {'keys': [proof_vectors.jwk(FIRST, RETIRED_AT), second]}
    yield 'signed-by-a-stranger.jwks', 'refused', {'keys': [first, forged]}
    yield 'without-signature.jwks', 'refused', {'keys': [first, unsigned]}
    yield 'signed-for-another-instance.jwks', 'refused', {'keys': [first, proof_vectors.successor(SECOND, FIRST, None, vector_values.TENANT)]}
    yield 'in-another-order.jwks', 'valid', {'keys': [second, first]}
    yield 'predecessor-not-listed.jwks', 'valid', {'keys': [second]}
    yield 'after-a-reset.jwks', 'valid', {'keys': [proof_vectors.jwk(FIRST, RETIRED_AT), reset]}
    yield 'also-listed-with-another-curve.jwks', 'valid', {'keys': [first, {**second, 'crv': 'X25519'}, second]}
    yield 'with-a-null.jwks', 'refused', {'keys': [first, second, None]}
    yield 'with-a-list.jwks', 'refused', {'keys': [first, second, []]}
    yield 'live-and-retired.jwks', 'refused', {'keys': [first, second, proof_vectors.jwk(SECOND, RETIRED_AT)]}
    yield 'lone-surrogate.jwks', 'refused', json.dumps({'keys': [first, second], 'more': '\ud800'})
    yield 'lines-with-spaces.vkey', 'valid', f' {second["note_key"]}\t\r\n\r\n'
    yield 'trust-file.json', 'valid', _trust([first], [second])
    yield 'trust-file-with-both.json', 'valid', _trust([first, second])
    yield 'trust-file-of-another-tenant.json', 'refused', _trust([first, second], tenant_id=vector_values.OTHER_TENANT)
    yield 'trust-file-with-a-key-twice.json', 'refused', _trust([proof_vectors.jwk(FIRST, RETIRED_AT), first, second])
    yield 'trust-file-that-contradicts-itself.json', 'refused', _trust([first, forged])
    yield 'trust-file-signed-by-a-stranger.json', 'refused', _trust([first], [forged])
    yield 'trust-file-without-signature.json', 'refused', _trust([first], [unsigned])
    yield 'trust-file-without-predecessor.json', 'refused', _trust([first], [proof_vectors.jwk(SECOND)])
    yield 'trust-file-after-a-reset.json', 'refused', _trust([first], [reset])
    keys = [proof_vectors.jwk(FIRST, RETIRED_AT), proof_vectors.jwk(STRANGER)]
    yield 'trust-file-of-an-ended-key.json', 'refused', _trust(keys, [second])
    yield 'trust-file-of-another-key.json', 'refused', _trust([proof_vectors.jwk(STRANGER)], [second])
    third = proof_vectors.successor(STRANGER, SECOND)
    yield 'trust-file-chain-in-another-order.json', 'valid', _trust([first], [third, second])
    yield 'trust-file-chain-with-a-gap.json', 'refused', _trust([first], [third])
    yield 'trust-file-successors-object.json', 'refused', _trust([first], {'0': second})
    yield 'trust-file-version-2.json', 'refused', {**_trust([first], [second]), 'version': 2}
    yield 'retired-at-null.jwks', 'refused', {'keys': [{**first, 'retired_at': None}, second]}
    yield 'kid-of-another-key.jwks', 'refused', {'keys': [first, {**second, 'kid': first['kid']}]}
    yield 'key-of-another-curve.jwks', 'valid', {'keys': [{**first, 'kty': 'EC'}, second]}
    yield 'trust-file-retired-at-null.json', 'refused', _trust([{**first, 'retired_at': None}, second])
    yield 'trust-file-retired-at-a-date.json', 'refused', _trust([{**first, 'retired_at': '2026-11-20'}, second])
    yield 'trust-file-key-of-another-curve.json', 'refused', _trust([{**first, 'crv': 'X25519'}, second])
    yield 'trust-file-without-a-workspace-name.json', 'refused', {**_trust([first], [second]), 'workspace': {'id': vector_values.TENANT}}
    # `version` is not the first member. Files of other programs can have any order of members.
    yield 'trust-file-version-2-at-the-end.json', 'refused', {'keys': [first, second], **{**_trust([first, second]), 'version': 2}}
    twice = json.dumps(_trust([first, second])).replace('"keys":', '"keys": [], "keys":')
    yield 'trust-file-keys-twice.json', 'refused', twice


def _trust(keys, successors=None, tenant_id=vector_values.TENANT):
    """A trust file with these keys."""
    workspace = {'id': tenant_id, 'name': 'acme'}
    file = {'version': 1, 'workspace': workspace, 'url': 'https://countersign.example.com', 'keys': keys}
    return file if successors is None else {**file, 'successors': successors}


def files():
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, _, value in _key_files()}
    return {f'succession-{name}': text.encode('ascii') for name, text in texts.items()}


def successions():
    """Yields each case: its name, verdict and file name."""
    for name, verdict, _ in _key_files():
        yield name.rpartition('.')[0], verdict, f'succession-{name}'
