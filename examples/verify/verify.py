#!/usr/bin/env python3
"""Checks what Countersign wrote, without Countersign: Python 3.9 or later and its standard library, nothing else.

Exit codes: 0 whole or valid, 1 broken or invalid, 2 wrong use or not readable.
"""

import sys

sys.dont_write_bytecode = True  # a verifier leaves nothing beside the evidence

import argparse
import base64
import binascii
import json
import os
import re
from collections import namedtuple

import decision
import ledger

WHOLE, BROKEN, UNUSABLE = 0, 1, 2

LARGEST_DECISION_BYTES = 1024 * 1024
LARGEST_SECRET_FILE_BYTES = 4096

# `line` is for people, `facts` for machines.
Verdict = namedtuple('Verdict', 'exit_code line facts')


class Unusable(Exception):
    """The question cannot be asked: a file that cannot be read, an argument that is not what it must be."""


def main(arguments=None):
    asked = _parser().parse_args(arguments)
    try:
        verdict = asked.run(asked)
    except Unusable as error:
        verdict = _unusable(str(error))
    except OSError as error:
        verdict = _unusable(f'cannot read: {error.strerror or type(error).__name__}')
    except MemoryError:
        verdict = _unusable('not enough memory')
    except KeyboardInterrupt:
        verdict = _unusable('interrupted')
    return _say(verdict, asked.json)


# --- The questions that can be asked ----------------------------------------------------------------------------------


def check_ledger(asked):
    tenant_id = None if asked.tenant is None else _uuid(asked.tenant, '--tenant')
    try:
        with _opened(asked.file) as stream:
            chain = ledger.verify(stream, tenant_id)
    except ledger.Broken as broken:
        where = f'line {broken.line}' if broken.seq is None else f'line {broken.line} (seq {broken.seq})'
        first_bad = {'line': broken.line, 'seq': broken.seq, 'problems': _problems(broken)}
        return Verdict(BROKEN, f'broken at {where}: {broken}', {'first_bad': first_bad, 'entries_whole_before': broken.line - 1})
    facts = {'entries': chain.entries, 'tenant_id': chain.tenant_id, 'head_row_hash': chain.head}
    if chain.entries == 0:
        return Verdict(WHOLE, 'whole: 0 entries, the export is empty', facts)
    entries = '1 entry' if chain.entries == 1 else f'{chain.entries} entries'
    return Verdict(WHOLE, f'whole: {entries} of tenant {ascii(chain.tenant_id)[1:-1]}, head {chain.head}', facts)


def check_decision(asked):
    key = _decision_key_asked(asked)
    with _opened(asked.file) as stream:
        data = _bounded(stream, LARGEST_DECISION_BYTES)
    if data is None:
        message = f'longer than {LARGEST_DECISION_BYTES} bytes, no decision'
        return Verdict(BROKEN, f'invalid: {message}', {'problems': [{'code': 'too_long', 'message': message}]})
    try:
        response = decision.verify(data, key)
    except decision.Invalid as invalid:
        return Verdict(BROKEN, f'invalid: {invalid}', {'problems': _problems(invalid)})
    facts = {name: response[name] for name in ('allowed', 'reason', 'decision_id', 'key_id', 'timestamp', 'response_sha256')}
    # A valid decision may well say no; the line must not be read as leave to deploy.
    said = 'ALLOWED' if response['allowed'] else 'BLOCKED'
    shown = ' '.join(f'{name} {ascii(response[name][:80])[1:-1]}' for name in ('reason', 'timestamp', 'decision_id', 'key_id'))
    return Verdict(WHOLE, f'valid: the service decided {said}, {shown}', facts)


def derive_decision_key(asked):
    tenant_id = _uuid(asked.tenant, '--tenant')
    if not asked.key_id:
        raise Unusable('--key-id is empty')
    with _opened(asked.master_secret_file) as stream:
        data = _bounded(stream, LARGEST_SECRET_FILE_BYTES)
    try:
        secret = base64.b64decode((data or b'').strip(), validate=True)
    except (binascii.Error, ValueError):
        secret = b''
    if len(secret) != 32:
        raise Unusable('the master secret file must hold 32 bytes in base64 and nothing else')
    try:
        key = decision.decision_key(secret, tenant_id, asked.key_id).hex()
    except UnicodeEncodeError:
        raise Unusable('--key-id is not UTF-8') from None
    return Verdict(WHOLE, key, {'tenant_id': tenant_id, 'key_id': asked.key_id, 'decision_key': key})


# --- Arguments and answers --------------------------------------------------------------------------------------------


def _parser():
    parser = argparse.ArgumentParser(
        prog='verify.py',
        description='Checks what Countersign wrote, without Countersign.',
        epilog='Exit codes: 0 whole or valid, 1 broken or invalid, 2 wrong use or not readable.',
    )
    questions = parser.add_subparsers(dest='question', required=True, metavar='ledger | decision | decision-key')

    def question(name, run, what):
        one = questions.add_parser(name, help=what, description=what)
        one.add_argument('--json', action='store_true', help='answer as one JSON object')
        one.set_defaults(run=run)
        return one

    one = question('ledger', check_ledger, 'Check an NDJSON export of an audit ledger; name the first row that is wrong.')
    one.add_argument('file', metavar='FILE', help='the export; - for standard input')
    one.add_argument('--tenant', metavar='ID', help='the tenant whose ledger it must be')

    one = question('decision', check_decision, 'Check digest and signature of a promotion decision. Valid does not mean allowed.')
    one.add_argument('file', metavar='FILE', help='the answer of the promotion check; - for standard input')
    key = one.add_mutually_exclusive_group(required=True)
    key.add_argument('--key', metavar='HEX64', help="the tenant's decision key, 64 hex digits")
    key.add_argument('--key-file', metavar='F', help='the same from a file, which other users of the machine cannot list')

    one = question('decision-key', derive_decision_key, "Derive a tenant's decision key from the master secret.")
    one.add_argument('--master-secret-file', metavar='F', required=True, help='32 bytes in base64; - for standard input')
    one.add_argument('--tenant', metavar='T', required=True, help="the tenant's id")
    one.add_argument('--key-id', metavar='K', required=True, help='key_id of the decision')
    return parser


def _decision_key_asked(asked):
    text = asked.key
    if text is None:
        with _opened(asked.key_file) as stream:
            text = (_bounded(stream, LARGEST_SECRET_FILE_BYTES) or b'').decode('ascii', 'replace').strip()
    if not re.fullmatch('[0-9a-fA-F]{64}', text):
        raise Unusable('the decision key must be 64 hex digits')
    return bytes.fromhex(text)


def _uuid(text, option):
    if not re.fullmatch('[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}', text):
        raise Unusable(f'{option} must be a UUID of 36 characters')
    return text.lower()  # kept, hashed and derived from in lower case


def _opened(path):
    if path == '-':
        if sys.stdin is None:
            raise Unusable('standard input is closed')
        return os.fdopen(os.dup(sys.stdin.fileno()), 'rb')
    try:
        return open(path, 'rb')
    except (OSError, ValueError) as error:
        raise Unusable(f'cannot read {ascii(path)}: {getattr(error, "strerror", None) or error}') from None


def _bounded(stream, limit):
    data = stream.read(limit + 1)
    return data if len(data) <= limit else None


def _problems(error):
    return [{'code': code, 'message': message} for code, message in error.problems]


def _unusable(message):
    return Verdict(UNUSABLE, message, {'message': message})


def _say(verdict, as_json):
    result = {WHOLE: 'ok', BROKEN: 'broken', UNUSABLE: 'unusable'}[verdict.exit_code]
    try:
        if as_json:
            print(json.dumps({'result': result, **verdict.facts}))
        else:
            print(verdict.line, file=sys.stderr if verdict.exit_code == UNUSABLE else sys.stdout)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        # Nobody listens any more, or the disk is full. The exit code still answers; without this the interpreter would
        # complain while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return verdict.exit_code


if __name__ == '__main__':
    sys.exit(main())
