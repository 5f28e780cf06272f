"""Signed notes, checkpoints and the keys that verify them (docs/formats.md, "Checkpoint" and "Signing keys").

https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint; keys as JSON: RFC 7517, RFC 8037, RFC 7638.
"""

import base64
import binascii
import hashlib
import re
from collections import namedtuple

import ed25519
import forms
import jcs
import merkle
import succession
from verdict import Invalid, quote, text_of

NOTE_BYTES_MAX = 1024 * 1024
SIGNATURES_MAX = 100  # the specification requires verifiers to accept 16
SIZE_MAX = 2**53 - 1

ED25519_TYPE = b'\x01'

# One trusted key. `name` is None for a JWK without note_key. Such a key can only verify attestations.
Key = namedtuple('Key', 'public_key name retired_at')
Note = namedtuple('Note', 'text signatures')
Signature = namedtuple('Signature', 'name note_id signature')
Checkpoint = namedtuple('Checkpoint', 'origin size root signers')


def from_base64(text):
    """Decodes standard base64 with padding. Returns None for any other text."""
    try:
        data = base64.b64decode(text.encode('ascii'), validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode('ascii') == text else None


def to_base64(data):
    return base64.b64encode(data).decode('ascii')


def to_base64url(data):
    """Encodes as base64url without padding, as in JSON Web Keys."""
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode('ascii')


# --- Keys -------------------------------------------------------------------------------------------------------------


def note_id(name, public_key):
    """The four bytes that identify a key in a note."""
    return hashlib.sha256(name.encode('utf-8') + b'\n' + ED25519_TYPE + public_key).digest()[:4]


def verifier_key(name, public_key):
    """The key as one line of text, a vkey."""
    return f'{name}+{note_id(name, public_key).hex()}+{to_base64(ED25519_TYPE + public_key)}'


def thumbprint(public_key):
    """The key's kid (RFC 7638): the hash of the JWK's required members in canonical form."""
    return to_base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{to_base64url(public_key)}"}}'.encode('ascii')).digest())


def read_verifier_key(text):
    """Reads a verifier key (vkey). Raises Invalid if the text is malformed, or if the id does not match the key."""
    name, _, rest = text.partition('+')
    hexadecimal, _, encoded = rest.partition('+')
    if not _is_key_name(name) or not re.fullmatch('[0-9a-f]{8}', hexadecimal):
        raise Invalid([('bad_key', f'{quote(text)} is not a verifier key, which is name+8 hex digits+base64')])
    data = from_base64(encoded)
    if data is None or len(data) != 33 or data[:1] != ED25519_TYPE:
        raise Invalid([('bad_key', f'the verifier key {quote(name)} does not end with the base64 of 0x01 and an Ed25519 key of 32 bytes')])
    if note_id(name, data[1:]).hex() != hexadecimal:
        message = f'the verifier key {quote(name)} has the id {hexadecimal}, which does not match its bytes: the text was changed'
        raise Invalid([('bad_key', message)])
    return _require_usable(Key(data[1:], name, None))


def read_keys(data):
    """The Keys of a file: a JWKS, a trust file, or verifier keys, one per line. Raises Invalid if it has no key or an invalid one."""
    return read_trust(data)[0]


def read_trust(data):
    """The Keys of a file as in read_keys, and the ID of the workspace that a trust file names. The ID is None for other files."""
    text = text_of(data)
    if text.lstrip()[:1] != '{':
        return [read_verifier_key(line.strip(' \t\r')) for line in text.split('\n') if line.strip()] or _reject_no_keys(), None
    try:
        jwks = jcs.read(text)
    except jcs.JcsError as error:
        raise Invalid([(error.code, str(error))]) from None
    if not isinstance(jwks.get('keys'), list) or not all(isinstance(jwk, dict) for jwk in jwks['keys']):
        raise Invalid([('bad_key', 'the file has no array "keys" of objects')])
    if 'version' in jwks:
        return succession.keys_of_trust_file(jwks), jwks['workspace']['id']
    listed = [(jwk, key_of_jwk(jwk)) for jwk in jwks['keys'] if is_ed25519(jwk)]
    succession.check_listed(listed)
    return [key for _, key in listed] or _reject_no_keys(), None


def is_ed25519(jwk):
    return jwk.get('kty') == 'OKP' and jwk.get('crv') == 'Ed25519'


def key_of_jwk(jwk):
    """Reads an Ed25519 key from a JWK. Raises Invalid if it is malformed, of another type, or contradicts itself."""
    if not is_ed25519(jwk):
        raise Invalid([('bad_key', 'a key is not an Ed25519 JWK')])
    x = jwk.get('x')
    public_key = from_base64(x.replace('-', '+').replace('_', '/') + '=') if isinstance(x, str) else None
    if public_key is None or len(public_key) != 32 or to_base64url(public_key) != x:
        raise Invalid([('bad_key', 'a JWK: x is not the base64url of 32 bytes')])
    kid = thumbprint(public_key)
    if jwk.get('kid', kid) != kid:
        raise Invalid([('bad_key', f'a JWK has the kid {quote(jwk["kid"])}, but its thumbprint is {kid}')])
    retired_at = jwk.get('retired_at')
    if 'retired_at' in jwk and not forms.is_instant(retired_at):
        raise Invalid([('bad_key', f'the key {kid}: retired_at is not a UTC time with milliseconds')])
    name = None
    if 'note_key' in jwk:
        note_key = read_verifier_key(jwk['note_key']) if isinstance(jwk['note_key'], str) else None
        if note_key is None or note_key.public_key != public_key:
            raise Invalid([('bad_key', f'the key {kid}: note_key is not the verifier key of this key')])
        name = note_key.name
    return _require_usable(Key(public_key, name, retired_at))


def _require_usable(key):
    """Returns the key. Raises Invalid if it is not a usable point of the curve."""
    if not ed25519.is_public_key(key.public_key):
        raise Invalid([('bad_key', 'a key is not a usable point of the curve')])
    return key


def _reject_no_keys():
    raise Invalid([('bad_key', 'the file contains no Ed25519 key')])


def _is_key_name(name):
    # JSON, or an argument that is not UTF-8, can contain a lone surrogate. It has no UTF-8 bytes, so it cannot be signed.
    return name != '' and not any(character == '+' or character.isspace() or '\ud800' <= character <= '\udfff' for character in name)


def facts_of_key(key):
    """The facts about a key that signed, for the output."""
    facts = {'kid': thumbprint(key.public_key)}
    if key.name is not None:
        facts['verifier_key'] = verifier_key(key.name, key.public_key)
    if key.retired_at is not None:
        facts['retired_at'] = key.retired_at
    return facts


def line_of_keys(keys):
    return ', '.join(
        f'{quote(key.name or thumbprint(key.public_key))[1:-1]}' + (f' (retired {key.retired_at})' if key.retired_at else '')
        for key in keys
    )


# --- Notes ------------------------------------------------------------------------------------------------------------


def read_note(data):
    """Reads a note without checking its signatures. Raises Invalid if the bytes are not a note."""
    if len(data) > NOTE_BYTES_MAX:
        raise Invalid([('too_long', f'longer than {NOTE_BYTES_MAX} bytes, so it is not a note')])
    note = text_of(data)
    control = next((character for character in note if character < ' ' and character != '\n'), None)
    if control is not None:
        raise Invalid([('bad_note', f'a note must not contain control characters, but this one has U+{ord(control):04X}')])
    # The last empty line separates text and signatures. The text may contain empty lines too.
    end = note.rfind('\n\n')
    if end < 0 or not note.endswith('\n'):
        raise Invalid([('bad_note', 'not a signed note, which is a text, an empty line and signature lines, each ended by a line feed')])
    lines = note[end + 2 : -1].split('\n') if len(note) > end + 2 else []
    if not 0 < len(lines) <= SIGNATURES_MAX:
        raise Invalid([('bad_note', f'a note has 1 to {SIGNATURES_MAX} signature lines, but this one has {len(lines)}')])
    return Note(note[: end + 1], [_signature(line) for line in lines])


def _signature(line):
    dash, _, rest = line.partition(' ')
    name, _, encoded = rest.partition(' ')
    data = from_base64(encoded)
    if dash != '\u2014' or not _is_key_name(name) or data is None or len(data) < 5:
        raise Invalid([('bad_note', f'not a signature line: {quote(line)}')])
    return Signature(name, data[:4], data[4:])


def verify_note(note, keys):
    """The Keys that signed the note. Raises Invalid if none did, or if a signature of a given key is wrong."""
    text = note.text.encode('utf-8')
    signers = []
    for signature in note.signatures:
        for key in keys:
            if key.name != signature.name or note_id(key.name, key.public_key) != signature.note_id:
                continue  # a signature of an unknown key is ignored
            if not ed25519.verify(key.public_key, text, signature.signature):
                message = f'the signature of {quote(key.name)} does not match: the note was changed or forged'
                raise Invalid([('signature_mismatch', message)])
            if key not in signers:
                signers.append(key)
    if not signers:
        names = ', '.join(f'{quote(signature.name)[1:-1]}+{signature.note_id.hex()}' for signature in note.signatures[:3])
        raise Invalid([('unknown_signer', f'none of the given keys signed the note; its signatures name the keys {names}')])
    return signers


# --- Checkpoints ------------------------------------------------------------------------------------------------------

SIZE_PATTERN = re.compile('0|[1-9][0-9]{0,15}')


def read_checkpoint(data, keys=None):
    """Reads a checkpoint. If keys is None, signatures are not checked.

    Raises Invalid if it is malformed, if none of the keys signed it, or if a signature of a given key is wrong.
    """
    note = read_note(data)
    signers = [] if keys is None else verify_note(note, keys)
    lines = note.text.split('\n')
    if len(lines) != 4 or lines[0] == '':
        raise Invalid([('bad_checkpoint', 'a checkpoint has three lines before the empty one: origin, size, root')])
    origin, size, encoded = lines[:3]
    root = from_base64(encoded)
    if not SIZE_PATTERN.fullmatch(size) or int(size) > SIZE_MAX:
        raise Invalid([('bad_checkpoint', f'the size {quote(size)} is not a whole number from 0 to {SIZE_MAX} without leading zeros')])
    if root is None or len(root) != 32:
        raise Invalid([('bad_checkpoint', 'the root is not the base64 of 32 bytes')])
    if size == '0' and root != merkle.EMPTY_ROOT:
        raise Invalid([('bad_checkpoint', 'the size is 0, but the root is not the root of the empty tree')])
    return Checkpoint(origin, int(size), root, signers)
