"""Inclusion and consistency proofs as Countersign returns them (docs/formats.md, "Inclusion proof" and "Consistency proof").

https://c2sp.org/tlog-proof
"""

import re
from collections import namedtuple

import jcs
import merkle
import note
from verdict import Invalid, quote, text_of

FIRST_LINE = 'c2sp.org/tlog-proof@v1'
HASHES_MAX = 128  # with 2^53 leaves, an inclusion proof needs 53 and a consistency proof at most 54

# The names of a tenant's logs in headers and proofs, with the suffixes of their origins.
LOGS = {'audit': '', 'decisions': '/decisions', 'evidence': '/evidence', 'keys': '/keys', 'traces': '/traces'}

Inclusion = namedtuple('Inclusion', 'index hashes checkpoint')
Consistency = namedtuple('Consistency', 'log first second hashes checkpoint')

_ORIGIN = re.compile('countersign/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(/decisions|/evidence|/keys|/traces)?')


def origin_of(tenant_id, log):
    return f'countersign/{tenant_id}{LOGS[log]}'


def log_of(origin):
    """(tenant_id, log) of an origin, or (None, None) if it is not an origin of Countersign."""
    match = _ORIGIN.fullmatch(origin)
    if match is None:
        return None, None
    return match.group(1), {suffix or None: log for log, suffix in LOGS.items()}[match.group(2)]


def read_inclusion(data, keys):
    """Reads an inclusion proof whose checkpoint is signed by one of the keys. Its hashes are not checked here."""
    head, gap, signed = text_of(data).partition('\n\n')
    lines = head.split('\n')
    if lines.pop(0) != FIRST_LINE or not gap:
        raise _bad_proof(f'an inclusion proof starts with the line {FIRST_LINE} and has its checkpoint after an empty line')
    if lines and lines[0].startswith('extra '):
        if note.from_base64(lines.pop(0)[6:]) is None:
            raise _bad_proof('the line extra is not base64')
    index = re.fullmatch('index (0|[1-9][0-9]{0,15})', lines.pop(0)) if lines else None
    if index is None:
        raise _bad_proof('the line index is missing, or not "index <number>"')
    return Inclusion(int(index.group(1)), _hashes(lines), note.read_checkpoint(signed.encode('utf-8'), keys))


def read_consistency(data, keys):
    """Reads a consistency proof whose checkpoint (of the larger size) is signed by one of the keys. Its hashes are not checked here."""
    try:
        proof = jcs.read(text_of(data))
    except jcs.JcsError as error:
        raise Invalid([(error.code, str(error))]) from None
    if not isinstance(proof, dict):
        raise _bad_proof('a consistency proof is a JSON object')
    for name, kind in (('log', str), ('first', int), ('second', int), ('hashes', list), ('checkpoint', str)):
        if type(proof.get(name)) is not kind:
            wanted = 'an array' if kind is list else 'a string' if kind is str else 'a whole number'
            raise _bad_proof(f'the member {name} is missing or not {wanted}')
    try:
        signed = proof['checkpoint'].encode('utf-8')
    except UnicodeEncodeError:
        raise Invalid([('lone_surrogate', 'the checkpoint contains a lone surrogate')]) from None
    checkpoint = note.read_checkpoint(signed, keys)
    if proof['second'] != checkpoint.size:
        raise _bad_proof(f'second is {proof["second"]}, but the checkpoint has size {checkpoint.size}')
    if proof['log'] != log_of(checkpoint.origin)[1]:
        raise _bad_proof(f'log is {quote(proof["log"])}, but the checkpoint is of {quote(checkpoint.origin)}')
    return Consistency(proof['log'], proof['first'], proof['second'], _hashes(proof['hashes']), checkpoint)


def _hashes(texts):
    if len(texts) > HASHES_MAX:
        raise _bad_proof(f'more than {HASHES_MAX} hashes')
    hashes = [note.from_base64(text) if isinstance(text, str) else None for text in texts]
    if any(data is None or len(data) != 32 for data in hashes):
        raise _bad_proof('a hash is not the base64 of 32 bytes')
    return hashes


def _bad_proof(message):
    return Invalid([('bad_proof', message)])


def require_proof(check, *arguments):
    """Runs a check of merkle.py. Raises Invalid if the check rejects the proof."""
    try:
        check(*arguments)
    except merkle.ProofError as error:
        raise Invalid([('disproved', str(error))]) from None
