#!/usr/bin/env python3
"""Verifies records of Countersign without Countersign. Needs only Python 3.9 or later and its standard library.

Exit codes: 0 valid, 1 broken or invalid, 2 usage error or unusable file.
"""

import sys

sys.dont_write_bytecode = True  # a verifier writes no files, not even compiled modules

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
from verdict import BROKEN, UNUSABLE, VALID, Invalid, Unusable, Verdict
from verdict import invalid, open_input, read_bounded, read_document, unusable

SECRET_FILE_BYTES_MAX = 4096


def main(command_line=None):
    arguments = _parser().parse_args(command_line)
    try:
        verdict = arguments.run(arguments)
    except Unusable as error:
        verdict = unusable(str(error))
    except OSError as error:
        verdict = unusable(f'cannot read: {error.strerror or type(error).__name__}')
    except MemoryError:
        verdict = unusable('not enough memory')
    except KeyboardInterrupt:
        verdict = unusable('interrupted')
    return _print_verdict(verdict, arguments.json)


# --- Decisions and their keys; logs are in check_log.py, proofs and attestations in check_proof.py --------------------


def check_decision(arguments):
    key = _read_decision_key(arguments)
    try:
        response = decision.verify(read_document(arguments.file), key)
        if arguments.evidence is not None:
            evidence.check(response, read_document(arguments.evidence))
    except Invalid as error:
        return invalid(error)
    facts = {name: response[name] for name in ('allowed', 'reason', 'decision_id', 'key_id', 'timestamp', 'response_sha256')}
    # A valid decision can be a blocked one, so the line must show which it is.
    outcome = 'ALLOWED' if response['allowed'] else 'BLOCKED'
    details = ' '.join(f'{name} {ascii(response[name][:80])[1:-1]}' for name in ('reason', 'timestamp', 'decision_id', 'key_id'))
    about_evidence = '' if arguments.evidence is None else '; the evidence gives this verdict'
    return Verdict(VALID, f'valid: the service decided {outcome}, {details}{about_evidence}', facts)


def derive_decision_key(arguments):
    tenant_id = check_log.checked_uuid(arguments.tenant, '--tenant')
    if not arguments.key_id:
        raise Unusable('--key-id is empty')
    with open_input(arguments.master_secret_file) as stream:
        data = read_bounded(stream, SECRET_FILE_BYTES_MAX)
    try:
        secret = base64.b64decode((data or b'').strip(), validate=True)
    except (binascii.Error, ValueError):
        secret = b''
    if len(secret) != 32:
        raise Unusable('the master secret file must contain 32 bytes in base64 and nothing else')
    try:
        key = decision.decision_key(secret, tenant_id, arguments.key_id).hex()
    except UnicodeEncodeError:
        raise Unusable('--key-id is not UTF-8') from None
    return Verdict(VALID, key, {'tenant_id': tenant_id, 'key_id': arguments.key_id, 'decision_key': key})


# --- Arguments and output ---------------------------------------------------------------------------------------------


def _parser():
    parser = argparse.ArgumentParser(
        prog='verify.py',
        description='Verifies records of Countersign without Countersign.',
        epilog='Exit codes: 0 valid, 1 broken or invalid, 2 usage error or unusable file.',
    )
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')

    def add_command(name, run, what):
        command = commands.add_parser(name, help=what, description=what)
        command.add_argument('--json', action='store_true', help='print the result as one JSON object')
        command.set_defaults(run=run)
        return command

    for name, run, what in (
        ('ledger', check_log.check_ledger, 'Check an NDJSON export of an audit ledger and name the first invalid row.'),
        ('decisions', check_log.check_other('decisions'), 'Check an NDJSON export of a decision log and name the first invalid line.'),
        ('evidence', check_log.check_other('evidence'), 'Check an NDJSON export of an evidence log and name the first invalid line.'),
        ('keys', check_log.check_other('keys'), 'Check an NDJSON export of a key audit trail and name the first invalid line.'),
        ('traces', check_log.check_other('traces'), 'Check an NDJSON export of a trace log and name the first invalid line.'),
    ):
        command = add_command(name, run, what)
        command.add_argument('file', metavar='FILE', help='the export; - for standard input')
        command.add_argument('--tenant', metavar='ID', help='the expected tenant of the log')
        command.add_argument('--checkpoint', metavar='KEPT', action='append', help='a kept checkpoint; may be repeated')
        command.add_argument('--head', metavar='HEADER', action='append', help='a kept Countersign-Checkpoint header; may be repeated')
        if name != 'ledger':
            what = 'the export of the audit ledger, which contains the clock corrections and accepted restores'
            command.add_argument('--audit', metavar='FILE', help=what)
        if name == 'decisions':
            command.add_argument('--replay', metavar='FILE', help='the export of the evidence log; recompute every decision from it')
        _add_signing_key(command, required=False)

    command = add_command('proof', check_proof.check_inclusion, 'Check that a row, decision or event is in its log.')
    command.add_argument('file', metavar='FILE', help='the inclusion proof (tlog-proof); - for standard input')
    proved = command.add_mutually_exclusive_group(required=True)
    proved.add_argument('--row-hash', metavar='HEX64', help='row_hash of a row, response_sha256 of a decision, or leaf data of an event')
    proved.add_argument('--entry', metavar='F', help='the row, decision or event itself, as JSON')
    command.add_argument('--origin', metavar='O', help='the expected log, such as countersign/<tenant ID>')
    _add_signing_key(command)

    what = 'Check that a log only grew between a kept checkpoint and a later one.'
    command = add_command('consistency', check_proof.check_consistency, what)
    command.add_argument('file', metavar='FILE', help='the consistency proof; - for standard input')
    first = command.add_mutually_exclusive_group(required=True)
    first.add_argument('--first', metavar='KEPT', help='the earlier checkpoint, which you kept')
    first.add_argument('--head', metavar='HEADER', help='the earlier head, from a kept Countersign-Checkpoint header')
    _add_signing_key(command)

    what = 'Check the attestation of a promotion decision. Valid does not mean allowed.'
    command = add_command('attestation', check_proof.check_attestation, what)
    command.add_argument('file', metavar='FILE', help='the DSSE envelope; - for standard input')
    _add_signing_key(command)

    command = add_command('decision', check_decision, 'Check the digest and signature of a decision. Valid does not mean allowed.')
    command.add_argument('file', metavar='FILE', help='the response of the promotion check; - for standard input')
    what = 'the evidence document of the decision; check its digest, and that the verdict follows from it'
    command.add_argument('--evidence', metavar='FILE', help=what)
    key = command.add_mutually_exclusive_group(required=True)
    key.add_argument('--key', metavar='HEX64', help="the tenant's decision key, 64 hex digits")
    key.add_argument('--key-file', metavar='F', help='a file with the decision key, so that the list of processes does not show it')

    command = add_command('decision-key', derive_decision_key, "Derive a tenant's decision key from the master secret.")
    command.add_argument('--master-secret-file', metavar='F', required=True, help='32 bytes in base64; - for standard input')
    command.add_argument('--tenant', metavar='T', required=True, help="the tenant's ID")
    command.add_argument('--key-id', metavar='K', required=True, help='key_id of the decision')
    return parser


def _add_signing_key(command, required=True):
    what = "the instance's public key: a verifier key (name+id+base64), or a file with such keys, a JWKS or a trust file; may be repeated"
    command.add_argument('--key', metavar='KEY', action='append', required=required, help=what)


def _read_decision_key(arguments):
    text = arguments.key
    if text is None:
        with open_input(arguments.key_file) as stream:
            text = (read_bounded(stream, SECRET_FILE_BYTES_MAX) or b'').decode('ascii', 'replace').strip()
    if not re.fullmatch('[0-9a-fA-F]{64}', text):
        raise Unusable('the decision key must be 64 hex digits')
    return bytes.fromhex(text)


def _print_verdict(verdict, as_json):
    result = {VALID: 'ok', BROKEN: 'broken', UNUSABLE: 'unusable'}[verdict.exit_code]
    try:
        if as_json:
            print(json.dumps({'result': result, **verdict.facts}))
        else:
            print(verdict.line, file=sys.stderr if verdict.exit_code == UNUSABLE else sys.stdout)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        # The reader is gone, or the disk is full. The exit code still gives the result. With /dev/null as standard output, the
        # interpreter prints no error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return verdict.exit_code


if __name__ == '__main__':
    sys.exit(main())
