"""The checks of whole logs: `verify.py ledger | decisions | evidence | keys | traces`."""

import re

import decision_replay
import decisions_log
import evidence_events
import kept
import key_events
import ledger
import log_proof
import ndjson
import note
import trace_events
import tree_heads
from verdict import BROKEN, VALID, Invalid, Unusable, Verdict, format_count, invalid, open_input, problems_of, read_document, quote


def check_ledger(arguments):
    return _check(arguments, 'audit', ledger.verify, _summary_of_ledger)


def check_other(log):
    """Returns the check of a log other than the audit ledger. `log` is its name."""

    def check(arguments):
        verify, summarize = _OTHER_LOGS[log]
        try:
            audit = _verified_audit(arguments)
        except Invalid as error:
            return invalid(error, 'broken')
        steps = audit and audit.steps(log)
        if getattr(arguments, 'replay', None) is None:
            return _check(arguments, log, lambda stream, tenant_id, tree: verify(stream, tenant_id, tree, steps), summarize, audit)
        with open_input(arguments.replay) as events:
            replay = decision_replay.Replay(events)
            return _check(arguments, log, lambda stream, tenant_id, tree: verify(stream, tenant_id, tree, steps, replay), summarize, audit)

    return check


def _verified_audit(arguments):
    """Verifies the export of the audit ledger, whose entries permit earlier times in other logs and explain abandoned heads.

    Returns its Chain, or None without --audit. Raises Invalid if the export is not valid."""
    if arguments.audit is None:
        return None
    try:
        with open_input(arguments.audit) as stream:
            return ledger.verify(stream)
    except ndjson.InvalidLine as error:
        raise Invalid([('audit_broken', f'the audit ledger is broken at line {error.line}: {error}')]) from None


def _other_tenant(audit, tenant_id):
    """How the audit ledger contradicts the tenant of a log that was read to its end: a list of (code, message)."""
    if audit is None or None in (audit.tenant_id, tenant_id) or audit.tenant_id == tenant_id:
        return []
    message = f'the audit ledger belongs to tenant {quote(audit.tenant_id)}, but this log belongs to tenant {quote(tenant_id)}'
    return [('other_tenant', message)]


def _check(arguments, log, verify, summarize, audit=None):
    keys, tenant_id = trusted_keys(arguments.key, None if arguments.tenant is None else checked_uuid(arguments.tenant, '--tenant'))
    if keys is not None and not arguments.checkpoint:
        raise Unusable('--key checks the signatures of checkpoints: also give --checkpoint')
    # The heads are read before the export, which may be long. A checkpoint with an invalid signature is no evidence.
    try:
        heads = [read_kept_checkpoint(path, keys) for path in arguments.checkpoint or []]
        heads += [read_kept_head(text, log) for text in arguments.head or []]
    except Invalid as error:
        return invalid(error, 'broken')
    comparison = kept.Comparison(heads)
    try:
        with open_input(arguments.file) as stream:
            result = verify(stream, tenant_id, comparison)
    except ndjson.InvalidLine as error:
        where = f'line {error.line}' if error.seq is None else f'line {error.line} (seq {error.seq})'
        first_bad = {'line': error.line, 'seq': error.seq, 'problems': problems_of(error)}
        facts = {'first_bad': first_bad, 'entries_whole_before': error.line - 1, 'kept': comparison.facts(has_ended=False)}
        return Verdict(BROKEN, f'broken at {where}: {error}', facts)
    root = note.to_base64(comparison.tree.root())
    line, facts = summarize(result)
    # Only the audit ledger records where the times of another log may go back.
    times_checked = log == 'audit' or arguments.audit is not None
    facts = {'entries': result.entries, **facts, 'root': root, 'kept': comparison.facts(has_ended=True), 'times_checked': times_checked}
    chain = result if log == 'audit' else audit
    accepted_restores = [] if chain is None else chain.accepted_restores(log)
    owner = tenant_id or getattr(result, 'tenant_id', None)
    problems = _other_tenant(audit, owner) + comparison.problems(log, owner, accepted_restores)
    if problems:
        facts['problems'] = [{'code': code, 'message': message} for code, message in problems]
        rest = f' (and {format_count(len(problems) - 3, "problem")} more)' if len(problems) > 3 else ''
        message = '; '.join(message for _, message in problems[:3])
        return Verdict(BROKEN, f'broken: every line is valid; {message}{rest}', facts)
    unchecked = '' if times_checked else '; times were not checked: give --audit'
    return Verdict(VALID, f'valid: {line}{_summary_of_kept(heads, root, result.entries)}{unchecked}', facts)


def _summary_of_ledger(chain):
    facts = {'tenant_id': chain.tenant_id, 'head_row_hash': chain.head}
    if chain.entries == 0:
        return '0 entries, the export is empty', facts
    return f'{format_count(chain.entries, "entry", "entries")} of tenant {ascii(chain.tenant_id)[1:-1]}, head {chain.head}', facts


def _summary_of_decisions(log):
    if log.entries == 0:
        return '0 decisions, the export is empty', {'allowed': 0}
    return f'{format_count(log.entries, "decision")}, {log.allowed} allowed', {'allowed': log.allowed}


def _summary_of_keys(trail):
    facts = {'tenant_id': trail.tenant_id}
    if trail.entries == 0:
        return '0 key events, the export is empty', facts
    return f'{format_count(trail.entries, "key event")} of tenant {ascii(trail.tenant_id)[1:-1]}', facts


def _summary_of_evidence(log):
    facts = {'tenant_id': log.tenant_id, 'agents': len(log.agents)}
    if log.entries == 0:
        return '0 evidence events, the export is empty', facts
    return f'{format_count(log.entries, "evidence event")} about {format_count(len(log.agents), "agent")} of tenant {ascii(log.tenant_id)[1:-1]}', facts


def _summary_of_traces(log):
    facts = {'tenant_id': log.tenant_id, 'submissions': log.submissions}
    if log.entries == 0:
        return '0 trace events, the export is empty', facts
    return f'{format_count(log.entries, "trace event")} with {format_count(log.submissions, "submission")} of tenant {ascii(log.tenant_id)[1:-1]}', facts


# For each log other than the audit ledger: the function that verifies it, and the function that summarizes the result.
_OTHER_LOGS = {
    'decisions': (decisions_log.verify, _summary_of_decisions),
    'evidence': (evidence_events.verify, _summary_of_evidence),
    'keys': (key_events.verify, _summary_of_keys),
    'traces': (trace_events.verify, _summary_of_traces),
}


def _summary_of_kept(heads, root, entries):
    line = f', root {root}' if entries else ''
    if not heads:
        return line
    sizes = sorted({head.size for head in heads})
    listed = ', '.join(map(str, sizes[:5])) + (', ...' if len(sizes) > 5 else '')
    line += f'; {format_count(len(heads), "kept head")} matched ({"size" if len(sizes) == 1 else "sizes"} {listed})'
    signers = {key for head in heads for key in head.signers or ()}
    unsigned = sum(not head.signers for head in heads)
    if signers:
        line += f', signed by {note.line_of_keys(sorted(signers, key=lambda key: key.public_key))}'
    if unsigned:
        line += f', {unsigned} of them without a checked signature' if signers else ', no signature checked'
    return line


# --- Arguments --------------------------------------------------------------------------------------------------------


def trusted_keys(key_arguments, tenant_id=None):
    """The keys of all --key arguments: verifier keys, or files with verifier keys, a JWKS or a trust file. None without --key.

    Also returns the tenant that `tenant_id` or a trust file names, or None. Raises Unusable if they name several tenants,
    or if an argument is invalid.
    """
    if not key_arguments:
        return None, tenant_id
    keys = []
    for text in key_arguments:
        try:
            if re.match(r'[^+\s]+\+[0-9a-f]{8}\+', text):
                keys.append(note.read_verifier_key(text))
                continue
            keys_of_file, tenant_of_file = note.read_trust(read_document(text))
        except Invalid as error:
            raise Unusable(f'--key: {error}') from None
        keys += keys_of_file
        if None not in (tenant_of_file, tenant_id) and tenant_of_file != tenant_id:
            raise Unusable(f'--key: the trust file is of the tenant {tenant_of_file}, not of {tenant_id}')
        tenant_id = tenant_of_file or tenant_id
    return keys, tenant_id


def read_kept_checkpoint(path, keys):
    """Reads a kept checkpoint from a file."""
    source = f'checkpoint {ascii(path)}'
    try:
        checkpoint = note.read_checkpoint(read_document(path), keys)
    except Invalid as error:
        raise Invalid([(code, f'{source}: {message}') for code, message in error.problems]) from None
    return kept.Head(source, checkpoint.size, checkpoint.root, checkpoint.origin, checkpoint.signers)


def read_kept_head(text, log):
    """The tree head of one log from a kept Countersign-Checkpoint header."""
    try:
        heads = tree_heads.read_heads(text)
    except Invalid as error:
        raise Unusable(f'--head: {error}') from None
    if log not in heads:
        raise Unusable(f'--head has no tree head of the log {log}, only of {", ".join(sorted(heads)[:5])}')
    size, root = heads[log]
    return kept.Head(f'head of size {size}', size, root, None, None)


def checked_uuid(text, option):
    if not re.fullmatch('[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}', text):
        raise Unusable(f'{option} must be a UUID of 36 characters')
    return text.lower()  # stored, hashed and used for key derivation in lower case
