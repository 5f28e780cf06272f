"""The audit ledger: one tenant's hash chain and tree, read from an export (docs/formats.md, "Audit row", "Chain", "Export")."""

import hashlib

import corrections
import forms
import jcs
import merkle
import ndjson
import restores
from ndjson import InvalidLine
from verdict import quote

ROW_DOMAIN = b'countersign/audit-entry/v1\n'

MEMBERS = {
    'version': (forms.is_version, 'a whole number'),
    'tenant_id': (forms.is_uuid, 'a UUID in lower case'),
    'seq': (forms.is_seq, 'a whole number of at least 1'),
    'id': (forms.is_uuid, 'a UUID in lower case'),
    'recorded_at': (forms.is_instant, 'a UTC time with milliseconds, such as 2026-11-20T09:30:00.123Z'),
    'recorded_by': (forms.is_recorded_by, 'operator, system:promotion-gate, system:retention, key:<12 hex digits> or user:<UUID>'),
    'actor': (forms.is_text, 'a string'),
    'action': (forms.is_text, 'a string'),
    'subject': (forms.is_text_or_null, 'a string or null'),
    'rationale': (forms.is_text_or_null, 'a string or null'),
    'framework': (forms.is_text_or_null, 'a string or null'),
    'trace_id': (forms.is_text_or_null, 'a string or null'),
    'agent_id': (forms.is_uuid_or_null, 'a UUID in lower case or null'),
    'retention_until': (forms.is_date_or_null, 'a date YYYY-MM-DD or null'),
    'metadata': (forms.is_object_or_null, 'an object or null'),
    'prev_hash': (forms.is_hash_or_null, '64 lower-case hex digits or null'),
    'row_hash': (forms.is_hash, '64 lower-case hex digits'),
}


def row_hash(entry):
    """The hash of an entry: its 16 members, without row_hash."""
    return hashlib.sha256(ROW_DOMAIN + jcs.canonicalize(entry)).hexdigest()


class Chain:
    """One tenant's chain, up to the last row read. It stores only facts about the last row, and the rows that record
    corrected times or accepted restores.

    `tree` receives the row hashes as leaves: a merkle.Tree, or a kept.Comparison.
    """

    def __init__(self, tenant_id=None, tree=None):
        self.tenant_id = tenant_id
        self.tree = merkle.Tree() if tree is None else tree
        self._is_tenant_required = tenant_id is not None
        self.entries = 0
        self.head = None
        self.corrections = []
        self.restores = []
        self._recorded_at = None

    def steps(self, log):
        """The steps back in time that the rows allow for another log."""
        return [step for step in (corrections.step_in(row, log) for row in self.corrections) if step is not None]

    def accepted_restores(self, log):
        """The accepted restores of a log that the rows record."""
        return [restore for restore in (restores.restore_in(row, log) for row in self.restores) if restore is not None]

    def append(self, row):
        """Appends the next row. If it raises InvalidLine, the chain is unchanged."""
        check_shape(row)
        entry = {name: value for name, value in row.items() if name != 'row_hash'}
        try:
            computed = row_hash(entry)
        except jcs.JcsError as error:
            raise InvalidLine([(error.code, str(error))], seq=row['seq']) from None
        problems = []

        def add_problem(code, message):
            problems.append((code, message))

        if row['row_hash'] != computed:
            add_problem('row_hash_mismatch', f'row_hash does not match: it is {row["row_hash"]}, but the other members hash to {computed}')
        if self.tenant_id is not None and row['tenant_id'] != self.tenant_id:
            actual, expected = quote(row['tenant_id']), quote(self.tenant_id)
            if self._is_tenant_required:
                add_problem('other_tenant', f'the row belongs to tenant {actual}, not to {expected}')
            else:
                add_problem('tenant_changes', f'the tenant changes from {expected} to {actual}')
        if row['seq'] != self.entries + 1:
            add_problem('seq_gap', f'seq is {row["seq"]}, expected {self.entries + 1}')
        if row['prev_hash'] != self.head:
            add_problem('prev_hash_mismatch', f'prev_hash does not link: it is {quote(row["prev_hash"])}, expected {quote(self.head)}')
        before, at = self._recorded_at, row['recorded_at']
        if before is not None and at < before and not corrections.allows(corrections.step_in(row, 'audit'), row['seq'], before, at):
            add_problem('recorded_at_backwards', f'recorded_at goes backwards, from {self._recorded_at} to {row["recorded_at"]}')
        if problems:
            raise InvalidLine(problems, seq=row['seq'])
        self.tenant_id = row['tenant_id']
        self.entries += 1
        self.head = row['row_hash']
        self._recorded_at = row['recorded_at']
        if row['action'] == corrections.ACTION:
            self.corrections.append(row)
        if row['action'] == restores.ACTION:
            self.restores.append(row)
        self.tree.append(bytes.fromhex(self.head))


def check_shape(row):
    """Raises InvalidLine unless the row has exactly the members of an export, each in its form."""
    # Another version may have other members and another hash, so nothing else in such a row is checked.
    if isinstance(row, dict) and 'version' in row and (type(row['version']) is not int or row['version'] != 1):
        seq = row.get('seq') if type(row.get('seq')) is int else None
        raise InvalidLine([('unknown_version', f'version is {quote(row["version"])}, but this verifier supports only version 1')], seq=seq)
    ndjson.check_members(row, MEMBERS, 'the format')


def verify(stream, tenant_id=None, tree=None):
    """Reads an export to its end and returns the Chain. Raises InvalidLine at the first invalid line."""
    return ndjson.read_into(Chain(tenant_id, tree), stream)
