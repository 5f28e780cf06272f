#!/usr/bin/env python3
"""Verifies records of Countersign without Countersign. Needs only Python 3.9 or later and its standard library.

Exit codes: 0 valid, 1 broken or invalid, 2 wrong usage or unreadable.
"""

import sys

sys.dont_write_bytecode = True  # a verifier writes no files beside the evidence

import argparse
import base64
import binascii
import json
import os
import re

import check_log
import check_proof
import decision
import evidence
from verdict import BROKEN, UNUSABLE, WHOLE, Invalid, Unusable, Verdict
from verdict import bounded, document, invalid, opened, unusable

LARGEST_SECRET_FILE_BYTES = 4096


def main(arguments=None):
    asked = _parser().parse_args(arguments)
    try:
        verdict = asked.run(asked)
    except Unusable as error:
        verdict = unusable(str(error))
    except OSError as error:
        verdict = unusable(f'cannot read: {error.strerror or type(error).__name__}')
    except MemoryError:
        verdict = unusable('not enough memory')
    except KeyboardInterrupt:
        verdict = unusable('interrupted')
    return _say(verdict, asked.json)


# --- Decisions and their keys; logs are in check_log.py, proofs and attestations in check_proof.py --------------------


def check_decision(asked):
    key = _decision_key_asked(asked)
    try:
        response = decision.verify(document(asked.file), key)
        if asked.evidence is not None:
            evidence.check(response, document(asked.evidence))
    except Invalid as error:
        return invalid(error)
    facts = {name: response[name] for name in ('allowed', 'reason', 'decision_id', 'key_id', 'timestamp', 'response_sha256')}
    # A valid decision can be a blocked one, so the line must show which it is.
    said = 'ALLOWED' if response['allowed'] else 'BLOCKED'
    shown = ' '.join(f'{name} {ascii(response[name][:80])[1:-1]}' for name in ('reason', 'timestamp', 'decision_id', 'key_id'))
    held = '' if asked.evidence is None else '; the evidence gives this verdict'
    return Verdict(WHOLE, f'valid: the service decided {said}, {shown}{held}', facts)


def derive_decision_key(asked):
    tenant_id = check_log.uuid(asked.tenant, '--tenant')
    if not asked.key_id:
        raise Unusable('--key-id is empty')
    with opened(asked.master_secret_file) as stream:
        data = bounded(stream, LARGEST_SECRET_FILE_BYTES)
    try:
        secret = base64.b64decode((data or b'').strip(), validate=True)
    except (binascii.Error, ValueError):
        secret = b''
    if len(secret) != 32:
        raise Unusable('the master secret file must contain 32 bytes in base64 and nothing else')
    try:
        key = decision.decision_key(secret, tenant_id, asked.key_id).hex()
    except UnicodeEncodeError:
        raise Unusable('--key-id is not UTF-8') from None
    return Verdict(WHOLE, key, {'tenant_id': tenant_id, 'key_id': asked.key_id, 'decision_key': key})


# --- Arguments and answers --------------------------------------------------------------------------------------------


def _parser():
    parser = argparse.ArgumentParser(
        prog='verify.py',
        description='Verifies records of Countersign without Countersign.',
        epilog='Exit codes: 0 valid, 1 broken or invalid, 2 wrong usage or unreadable.',
    )
    questions = parser.add_subparsers(dest='question', required=True, metavar='QUESTION')

    def question(name, run, what):
        one = questions.add_parser(name, help=what, description=what)
        one.add_argument('--json', action='store_true', help='answer as one JSON object')
        one.set_defaults(run=run)
        return one

    for name, run, what in (
        ('ledger', check_log.check_ledger, 'Check an NDJSON export of an audit ledger and name the first invalid row.'),
        ('decisions', check_log.check_other('decisions'), 'Check an NDJSON export of a decisions log and name the first invalid line.'),
        ('evidence', check_log.check_other('evidence'), 'Check an NDJSON export of an evidence log and name the first invalid line.'),
        ('keys', check_log.check_other('keys'), 'Check an NDJSON export of a key audit trail and name the first invalid line.'),
        ('traces', check_log.check_other('traces'), 'Check an NDJSON export of a traces log and name the first invalid line.'),
    ):
        one = question(name, run, what)
        one.add_argument('file', metavar='FILE', help='the export; - for standard input')
        one.add_argument('--tenant', metavar='ID', help='the expected tenant of the log')
        one.add_argument('--checkpoint', metavar='KEPT', action='append', help='a kept checkpoint; may be repeated')
        one.add_argument('--head', metavar='HEADER', action='append', help='a kept Countersign-Checkpoint header; may be repeated')
        if name != 'ledger':
            one.add_argument('--audit', metavar='FILE', help='the export of the audit ledger, which records where times may step back')
        if name == 'decisions':
            one.add_argument('--replay', metavar='FILE', help='the export of the evidence log; recompute every decision from it')
        _signing_key(one, required=False)

    one = question('proof', check_proof.check_inclusion, 'Check that a row, decision or key event is in the log.')
    one.add_argument('file', metavar='FILE', help='the inclusion proof (tlog-proof); - for standard input')
    proved = one.add_mutually_exclusive_group(required=True)
    proved.add_argument('--row-hash', metavar='HEX64', help='row_hash of a row, or response_sha256 of a decision')
    proved.add_argument('--entry', metavar='F', help='the row, decision or key event itself, as JSON')
    one.add_argument('--origin', metavar='O', help='the expected log, such as countersign/<tenant id>')
    _signing_key(one)

    one = question('consistency', check_proof.check_consistency, 'Check that a kept checkpoint is a prefix of a later one.')
    one.add_argument('file', metavar='FILE', help='the consistency proof; - for standard input')
    first = one.add_mutually_exclusive_group(required=True)
    first.add_argument('--first', metavar='KEPT', help='the earlier checkpoint, which you kept')
    first.add_argument('--head', metavar='HEADER', help='or a kept Countersign-Checkpoint header')
    _signing_key(one)

    what = 'Check the attestation of a promotion decision. Valid does not mean allowed.'
    one = question('attestation', check_proof.check_attestation, what)
    one.add_argument('file', metavar='FILE', help='the DSSE envelope; - for standard input')
    _signing_key(one)

    one = question('decision', check_decision, 'Check digest and signature of a promotion decision. Valid does not mean allowed.')
    one.add_argument('file', metavar='FILE', help='the response of the promotion check; - for standard input')
    one.add_argument('--evidence', metavar='FILE', help='its evidence document; check its digest, and that the verdict follows from it')
    key = one.add_mutually_exclusive_group(required=True)
    key.add_argument('--key', metavar='HEX64', help="the tenant's decision key, 64 hex digits")
    key.add_argument('--key-file', metavar='F', help='a file with the decision key, which keeps it out of the list of processes')

    one = question('decision-key', derive_decision_key, "Derive a tenant's decision key from the master secret.")
    one.add_argument('--master-secret-file', metavar='F', required=True, help='32 bytes in base64; - for standard input')
    one.add_argument('--tenant', metavar='T', required=True, help="the tenant's id")
    one.add_argument('--key-id', metavar='K', required=True, help='key_id of the decision')
    return parser


def _signing_key(one, required=True):
    what = "the instance's public key: a verifier key (name+id+base64), or a file with such keys, a JWKS or a trust file; may be repeated"
    one.add_argument('--key', metavar='KEY', action='append', required=required, help=what)


def _decision_key_asked(asked):
    text = asked.key
    if text is None:
        with opened(asked.key_file) as stream:
            text = (bounded(stream, LARGEST_SECRET_FILE_BYTES) or b'').decode('ascii', 'replace').strip()
    if not re.fullmatch('[0-9a-fA-F]{64}', text):
        raise Unusable('the decision key must be 64 hex digits')
    return bytes.fromhex(text)


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
        # The reader is gone, or the disk is full. The exit code still gives the result. Without this, the interpreter would print
        # an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return verdict.exit_code


if __name__ == '__main__':
    sys.exit(main())
