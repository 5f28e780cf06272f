"""The audit ledger: one tenant's hash chain, read from an NDJSON export (docs/formats.md, "Audit row" and "Export")."""

import hashlib
import json
import re

import jcs

ROW_DOMAIN = b'countersign/audit-entry/v1\n'

# A row is at most a request body with some members around it. The bound keeps a file that is not an export out of memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024

_HASH = re.compile('[0-9a-f]{64}')
_INSTANT = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z')


def _is_text(value):
    return isinstance(value, str)


def _is_text_or_null(value):
    return value is None or isinstance(value, str)


def _is_object_or_null(value):
    return value is None or isinstance(value, dict)


def _is_seq(value):
    return type(value) is int and value >= 1  # bool is an int in Python


def _is_version(value):
    return type(value) is int


def _is_hash(value):
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _is_hash_or_null(value):
    return value is None or _is_hash(value)


def _is_instant(value):
    return isinstance(value, str) and _INSTANT.fullmatch(value) is not None


MEMBERS = {
    'version': (_is_version, 'a whole number'),
    'tenant_id': (_is_text, 'a string'),
    'seq': (_is_seq, 'a whole number from 1 up'),
    'id': (_is_text, 'a string'),
    'recorded_at': (_is_instant, 'a UTC time with milliseconds, as 2026-11-20T09:30:00.123Z'),
    'recorded_by': (_is_text, 'a string'),
    'actor': (_is_text, 'a string'),
    'action': (_is_text, 'a string'),
    'subject': (_is_text_or_null, 'a string or null'),
    'rationale': (_is_text_or_null, 'a string or null'),
    'framework': (_is_text_or_null, 'a string or null'),
    'trace_id': (_is_text_or_null, 'a string or null'),
    'agent_id': (_is_text_or_null, 'a string or null'),
    'retention_until': (_is_text_or_null, 'a string or null'),
    'metadata': (_is_object_or_null, 'an object or null'),
    'prev_hash': (_is_hash_or_null, '64 lower-case hex digits or null'),
    'row_hash': (_is_hash, '64 lower-case hex digits'),
}


class Broken(Exception):
    """A line or row that is wrong. `problems` is a list of (code, message), the plainest first."""

    def __init__(self, problems, line=None, seq=None):
        super().__init__('; '.join(message for _, message in problems))
        self.problems = problems
        self.line = line
        self.seq = seq


def row_hash(entry):
    """The hash of an entry: its 16 members, without row_hash."""
    return hashlib.sha256(ROW_DOMAIN + jcs.canonicalize(entry)).hexdigest()


class Chain:
    """One tenant's chain as far as it has been read. Holds the last row's particulars, never the rows."""

    def __init__(self, tenant_id=None):
        self.tenant_id = tenant_id
        self._tenant_was_asked_for = tenant_id is not None
        self.entries = 0
        self.head = None
        self._recorded_at = None

    def append(self, row):
        """Takes the next row, or raises Broken and stays as it was."""
        _check_shape(row)
        entry = {name: value for name, value in row.items() if name != 'row_hash'}
        try:
            computed = row_hash(entry)
        except jcs.JcsError as error:
            raise Broken([(error.code, str(error))], seq=row['seq']) from None
        problems = []

        def wrong(code, message):
            problems.append((code, message))

        if row['row_hash'] != computed:
            wrong('row_hash_mismatch', f'row_hash does not match: the row says {row["row_hash"]}, its members make {computed}')
        if self.tenant_id is not None and row['tenant_id'] != self.tenant_id:
            of, expected = _shown(row['tenant_id']), _shown(self.tenant_id)
            if self._tenant_was_asked_for:
                wrong('other_tenant', f'the row is of tenant {of}, asked for was {expected}')
            else:
                wrong('tenant_changes', f'the tenant changes from {expected} to {of}')
        if row['seq'] != self.entries + 1:
            wrong('seq_gap', f'seq is {row["seq"]}, expected {self.entries + 1}')
        if row['prev_hash'] != self.head:
            wrong('prev_hash_mismatch', f'prev_hash does not link: it is {_shown(row["prev_hash"])}, expected {_shown(self.head)}')
        if self._recorded_at is not None and row['recorded_at'] < self._recorded_at:
            wrong('recorded_at_backwards', f'recorded_at goes backwards, from {self._recorded_at} to {row["recorded_at"]}')
        if problems:
            raise Broken(problems, seq=row['seq'])
        self.tenant_id = row['tenant_id']
        self.entries += 1
        self.head = row['row_hash']
        self._recorded_at = row['recorded_at']


def _check_shape(row):
    if not isinstance(row, dict):
        raise Broken([('not_an_object', 'the line is not a JSON object')])
    seq = row.get('seq') if type(row.get('seq')) is int else None
    # Another version may have other members and another hash: nothing more can be said about such a row.
    if 'version' in row and (type(row['version']) is not int or row['version'] != 1):
        raise Broken([('unknown_version', f'version is {_shown(row["version"])}, this verifier knows version 1')], seq=seq)
    problems = []
    for name in MEMBERS:
        if name not in row:
            problems.append(('missing_member', f'the member {name} is missing'))
    for name in row:
        if name not in MEMBERS:
            problems.append(('extra_member', f'the member {_shown(name)} is not part of the format'))
            break  # one is enough to say, and there may be a million
    for name, (fits, wanted) in MEMBERS.items():
        if name in row and not fits(row[name]):
            problems.append(('wrong_form', f'{name} is not {wanted}'))
    if problems:
        raise Broken(problems, seq=seq)


def _shown(value):
    # ASCII and short: what a file holds must not steer the terminal it is shown on.
    text = json.dumps(value) if not isinstance(value, (dict, list)) else type(value).__name__
    return text if len(text) <= 80 else text[:77] + '...'


def lines(stream):
    """(line number, bytes) of a binary stream, each line bounded."""
    number = 0
    while True:
        line = stream.readline(LONGEST_LINE_BYTES + 1)
        if not line:
            return
        number += 1
        if len(line) > LONGEST_LINE_BYTES:
            raise Broken([('line_too_long', f'the line is longer than {LONGEST_LINE_BYTES} bytes')], line=number)
        yield number, line


def read_row(line):
    """The value of one line; raises Broken when the line does not say one thing only."""
    try:
        text = line.decode('utf-8')
    except UnicodeDecodeError as error:
        raise Broken([('bad_utf8', f'not UTF-8, at byte {error.start + 1}')]) from None
    if not text.strip():
        raise Broken([('bad_json', 'not JSON: the line is empty')])
    try:
        return jcs.read(text)
    except jcs.JcsError as error:
        raise Broken([(error.code, str(error))]) from None


def verify(stream, tenant_id=None):
    """Reads an export to its end and returns the Chain; raises Broken at the first line or row that is wrong."""
    chain = Chain(tenant_id)
    for number, line in lines(stream):
        try:
            chain.append(read_row(line))
        except Broken as broken:
            broken.line = number
            raise
    return chain
