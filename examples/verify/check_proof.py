"""The checks of single proofs and attestations: `verify.py proof | consistency | attestation`."""

import re

import attestation
import check_log
import decision
import evidence_events
import jcs
import key_events
import ledger
import log_proof
import merkle
import ndjson
import note
import trace_events
from verdict import VALID, Invalid, Unusable, Verdict, invalid, read_document, quote


def check_inclusion(arguments):
    keys, tenant_id = check_log.trusted_keys(arguments.key)
    if arguments.row_hash is not None and not re.fullmatch('[0-9a-fA-F]{64}', arguments.row_hash):
        raise Unusable('--row-hash must be 64 hex digits')
    try:
        proof = log_proof.read_inclusion(read_document(arguments.file), keys)
        checkpoint = proof.checkpoint
        if arguments.origin is not None and checkpoint.origin != arguments.origin:
            raise Invalid([('other_origin', f'the proof is of the log {quote(checkpoint.origin)}, not of {quote(arguments.origin)}')])
        _require_tenant(tenant_id, log_proof.log_of(checkpoint.origin)[0], 'the proof')
        data = bytes.fromhex(arguments.row_hash) if arguments.entry is None else _leaf_data_of_entry(arguments.entry, proof)
        leaf = merkle.leaf_hash(data)
        log_proof.require_proof(merkle.check_inclusion, proof.index, checkpoint.size, leaf, proof.hashes, checkpoint.root)
    except Invalid as error:
        return invalid(error)
    facts = {'seq': proof.index + 1, 'leaf_data': data.hex(), **_facts_of(checkpoint)}
    line = f'valid: {data.hex()} is row {proof.index + 1} of {_describe_checkpoint(checkpoint)}'
    return Verdict(VALID, line, facts)


def _require_tenant(expected, tenant_id, what):
    """Raises Invalid if a trust file names a tenant that the document does not belong to. One key signs for all tenants of an instance."""
    if expected is not None and tenant_id != expected:
        named = 'names no tenant' if tenant_id is None else f'is of the tenant {quote(tenant_id)}'
        raise Invalid([('other_tenant', f'{what} {named}, but the trust file is of the tenant {expected}')])


def _leaf_data_of_entry(path, proof):
    """The leaf data of the entry in a file. The entry is read as one of the log that the proof names.

    Raises Invalid if the entry is malformed, or has another seq or tenant than the proof. The tenant of a decision is not compared. The
    seq of a decision is compared only if the file contains a line of an export.
    """
    tenant_id, log = log_proof.log_of(proof.checkpoint.origin)
    if log is None:
        origin = quote(proof.checkpoint.origin)
        raise Invalid([('other_origin', f'the proof is of {origin}, which is not a log of Countersign: its entries cannot be read')])
    try:
        entry = ndjson.read_line(read_document(path))
        if not isinstance(entry, dict):
            raise Invalid([('not_an_object', 'the entry is not a JSON object')])
        read = {'audit': _audit_row, 'decisions': _decision, 'evidence': _evidence_event, 'keys': _key_event, 'traces': _trace_event}[log]
        data, seq, tenant_of_entry = read(entry)
    except ndjson.InvalidLine as error:
        raise Invalid(error.problems) from None
    except jcs.JcsError as error:
        raise Invalid([(error.code, str(error))]) from None
    if tenant_of_entry not in (None, tenant_id):
        raise Invalid([('other_tenant', f'the entry belongs to tenant {quote(tenant_of_entry)}, but the proof to {tenant_id}')])
    if seq not in (None, proof.index + 1):
        raise Invalid([('disproved', f'the entry has seq {seq}, but the proof is of row {proof.index + 1}')])
    return data


def _audit_row(row):
    # The member row_hash is optional, because it follows from the others.
    computed = ledger.row_hash({name: value for name, value in row.items() if name != 'row_hash'})
    ledger.check_shape({'row_hash': computed, **row})
    if row.get('row_hash', computed) != computed:
        stated = row['row_hash']
        raise Invalid([('row_hash_mismatch', f'row_hash does not match: it is {stated}, but the other members hash to {computed}')])
    return bytes.fromhex(computed), row['seq'], row['tenant_id']


def _decision(entry):
    # Either the response itself, or a line of an export.
    if set(entry) == {'seq', 'decision'}:
        return bytes.fromhex(decision.checked_digest(entry['decision'])), entry['seq'], None
    return bytes.fromhex(decision.checked_digest(entry)), None, None


def _evidence_event(event):
    evidence_events.check_members(event)
    return evidence_events.leaf_data(event), event['seq'], event['tenant_id']


def _key_event(event):
    ndjson.check_members(event, key_events.MEMBERS, 'a key event')
    return key_events.leaf_data(event), event['seq'], event['tenant_id']


def _trace_event(event):
    trace_events.check_members(event)
    return trace_events.leaf_data(event), event['seq'], event['tenant_id']


def check_consistency(arguments):
    keys, tenant_id = check_log.trusted_keys(arguments.key)
    try:
        proof = log_proof.read_consistency(read_document(arguments.file), keys)
        checkpoint = proof.checkpoint
        _require_tenant(tenant_id, log_proof.log_of(checkpoint.origin)[0], 'the proof')
        if arguments.first is not None:
            first = check_log.read_kept_checkpoint(arguments.first, keys)
        else:
            first = check_log.read_kept_head(arguments.head, proof.log)
        if first.origin not in (None, checkpoint.origin):
            message = f'{first.source} is of the log {quote(first.origin)}, but the proof is of {quote(checkpoint.origin)}'
            raise Invalid([('other_origin', message)])
        if first.size != proof.first:
            raise Invalid([('other_size', f'{first.source} has size {first.size}, but the proof starts from size {proof.first}')])
        _prove_growth(first, proof)
    except Invalid as error:
        return invalid(error)
    facts = {'first': proof.first, 'second': proof.second, **_facts_of(checkpoint)}
    whole = f'the {proof.second} rows of {_describe_checkpoint(checkpoint)}'
    line = f'valid: the {proof.first} rows of {first.source} are the first {proof.first} of {whole}'
    return Verdict(VALID, line, facts)


def _prove_growth(first, proof):
    checkpoint = proof.checkpoint
    try:
        log_proof.require_proof(merkle.check_consistency, proof.first, proof.second, proof.hashes, first.root, checkpoint.root)
    except Invalid as error:
        if first.size == checkpoint.size and first.root != checkpoint.root:
            raise Invalid([('fork', f'{error}: the log was forked or rewritten; keep {first.source} and this proof as evidence')]) from None
        raise


def check_attestation(arguments):
    keys, tenant_id = check_log.trusted_keys(arguments.key)
    try:
        verified = attestation.verify(read_document(arguments.file), keys)
        _require_tenant(tenant_id, verified.decision.get('tenant_id'), 'the decision')
    except Invalid as error:
        return invalid(error)
    response = verified.decision
    facts = {name: response[name] for name in ('allowed', 'reason', 'decision_id', 'timestamp', 'response_sha256')}
    facts['signed_by'] = [note.facts_of_key(key) for key in verified.signers]
    outcome = 'ALLOWED' if response['allowed'] else 'BLOCKED'
    details = ' '.join(f'{name} {ascii(response[name][:80])[1:-1]}' for name in ('reason', 'timestamp', 'decision_id'))
    return Verdict(VALID, f'valid: the service decided {outcome}, {details}, signed by {note.line_of_keys(verified.signers)}', facts)


def _facts_of(checkpoint):
    signers = [note.facts_of_key(key) for key in checkpoint.signers]
    return {'origin': checkpoint.origin, 'size': checkpoint.size, 'root': note.to_base64(checkpoint.root), 'signed_by': signers}


def _describe_checkpoint(checkpoint):
    origin = ascii(checkpoint.origin)[1:-1][:120]
    return f'{origin} at size {checkpoint.size}, signed by {note.line_of_keys(checkpoint.signers)}'
