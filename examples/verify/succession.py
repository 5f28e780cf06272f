"""Signing keys that sign their successors (docs/formats.md, "Succession of signing keys"), and trust files, which list successors."""

import re

import ed25519
import jcs
import note
from verdict import Invalid, quote

DOMAIN = b'countersign/signing-key-successor/v1\n'
UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'


def message(instance_id, predecessor, successor):
    """The bytes that the predecessor signs. They name both keys by their kid."""
    return DOMAIN + jcs.canonicalize({'instance_id': instance_id, 'predecessor': predecessor, 'successor': successor})


def fault(jwk, key, predecessor):
    """Why the JWK of `key` has no valid signature by `predecessor`, or None if it has one.

    `key` and `predecessor` are Keys, and `predecessor` has a name.
    """
    own_kid, signer_kid = note.thumbprint(key.public_key), note.thumbprint(predecessor.public_key)
    if jwk.get('predecessor') != signer_kid:
        return f'the key {own_kid} does not name {signer_kid} as its predecessor'
    if key.name is None or key.name != predecessor.name:
        return f'the key {own_kid} and its predecessor {signer_kid} belong to different instances'
    text = jwk.get('predecessor_signature')
    signature = note.from_base64(text) if isinstance(text, str) else None
    if signature is None or len(signature) != 64:
        return f'the key {own_kid} has no signature by its predecessor {signer_kid}'
    instance_id = predecessor.name[len('countersign/') :]
    if not ed25519.verify(predecessor.public_key, message(instance_id, signer_kid, own_kid), signature):
        return f'the signature over the key {own_kid} is not by its predecessor {signer_kid}'
    return None


def check_listed(listed):
    """Raises Invalid if a list of pairs (JWK, Key) has a key twice, or if a listed predecessor of a key has not signed the key."""
    kids = [note.thumbprint(key.public_key) for _, key in listed]
    twice = next((kid for kid in kids if kids.count(kid) > 1), None)
    if twice is not None:
        raise Invalid([('bad_key', f'the key {twice} is listed twice')])
    by_kid = {note.thumbprint(key.public_key): key for _, key in listed if key.name is not None}
    for jwk, key in listed:
        predecessor = by_kid.get(_text(jwk.get('predecessor')))
        reason = None if predecessor is None or key.name is None else fault(jwk, key, predecessor)
        if reason is not None:
            raise Invalid([('bad_succession', reason)])


def follow(known, listed):
    """Follows signatures from the known keys to the listed pairs (JWK, Key).

    Returns the proven keys, and one reason for each listed key that is neither known nor proven.
    """
    accepted = {note.thumbprint(key.public_key): key for key in known}
    waiting = [(jwk, key) for jwk, key in listed if note.thumbprint(key.public_key) not in accepted]
    proven, rejections = [], []
    while True:
        following = next((each for each in waiting if _text(each[0].get('predecessor')) in accepted), None)
        if following is None:
            break
        waiting.remove(following)
        jwk, key = following
        found = fault(jwk, key, accepted[jwk['predecessor']])
        if found is None:
            proven.append(key)
            accepted[note.thumbprint(key.public_key)] = key
        else:
            rejections.append(found)
    rejections += [f'no trusted key has signed the key {note.thumbprint(key.public_key)}' for _, key in waiting]
    return proven, rejections


def keys_of_trust_file(value):
    """The Keys of a trust file, including the Keys of `successors`. Raises Invalid if it is malformed or a successor is not proven."""
    if value.get('version') != 1 or isinstance(value['version'], bool):
        raise Invalid([('bad_key', f'the trust file has version {quote(value.get("version"))}, not 1')])
    workspace = value.get('workspace')
    if not isinstance(workspace, dict) or not isinstance(workspace.get('id'), str) or not re.fullmatch(UUID, workspace['id']):
        raise Invalid([('bad_key', 'the trust file does not name a workspace by its UUID')])
    if not isinstance(workspace.get('name'), str) or workspace['name'] == '':
        raise Invalid([('bad_key', 'the workspace of the trust file has no name')])
    listed = _listed(value, 'keys')
    check_listed(listed)
    live = [key for _, key in listed if key.retired_at is None]
    if not live:
        raise Invalid([('bad_key', 'the trust file has no live key')])
    proven, rejections = follow(live, _listed(value, 'successors') if 'successors' in value else [])
    if rejections:
        raise Invalid([('bad_succession', f'the trust file has a successor that is not proven: {rejections[0]}')])
    return [key for _, key in listed] + proven


def _listed(value, name):
    jwks = value.get(name)
    if not isinstance(jwks, list) or not all(isinstance(jwk, dict) for jwk in jwks):
        raise Invalid([('bad_key', f'the trust file has no array "{name}" of objects')])
    listed = [(jwk, note.key_of_jwk(jwk)) for jwk in jwks]
    if any(key.name is None for _, key in listed):
        raise Invalid([('bad_key', f'a key of "{name}" has no note_key')])
    return listed


def _text(value):
    return value if isinstance(value, str) else None
