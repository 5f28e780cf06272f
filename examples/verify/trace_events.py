"""The trace log: which documents were stored as a tenant's traces, and which were dropped (docs/formats.md, "Trace event")."""

import hashlib

import forms
import jcs
import ndjson
from key_events import EventLog
from ndjson import InvalidLine

TRACE_DOMAIN = b'countersign/traces/v1\n'

_COMMON = {
    'version': (lambda value: type(value) is int and value == 1, 'the number 1'),
    'tenant_id': (forms.is_uuid, 'a UUID in lower case'),
    'seq': (forms.is_seq, 'a whole number of at least 1'),
    'recorded_at': (forms.is_instant, 'a UTC time with milliseconds, such as 2026-11-20T09:30:00.123Z'),
}

RECORDED = {
    **_COMMON,
    'received_at': (forms.is_instant, 'a UTC time with milliseconds, such as 2026-11-20T09:30:00.123Z'),
    'action': (lambda value: value == 'traces.recorded', 'traces.recorded or traces.dropped'),
    'submissions': (lambda value: isinstance(value, list) and len(value) > 0, 'a non-empty array'),
}

DROPPED = {
    **_COMMON,
    'action': (lambda value: value == 'traces.dropped', 'traces.recorded or traces.dropped'),
    'reason': (lambda value: value in ('retention', 'erasure'), 'retention or erasure'),
    'traces': (lambda value: isinstance(value, list) and len(value) > 0, 'a non-empty array'),
    'exports': (
        lambda value: isinstance(value, list) and all(forms.is_hash(each) for each in value),
        'an array of strings of 64 lower-case hex digits',
    ),
}

DROPPED_TRACE = {
    'id': (forms.is_uuid, 'a UUID in lower case'),
    'submissions': (forms.is_seq, 'a whole number of at least 1'),
}

SUBMISSION = {
    'agent_id': (forms.is_uuid_or_null, 'a UUID in lower case or null'),
    'document_sha256': (forms.is_hash, '64 lower-case hex digits'),
    'export_sha256': (forms.is_hash_or_null, '64 lower-case hex digits or null'),
    'id': (forms.is_uuid, 'a UUID in lower case'),
    'number': (forms.is_seq, 'a whole number of at least 1'),
    'recorded_by': (forms.is_recorded_by, 'operator, system:promotion-gate, system:retention, key:<12 hex digits> or user:<UUID>'),
    'trace_id': (forms.is_text, 'a string'),
}


def leaf_data(event):
    """The leaf data of an event."""
    return hashlib.sha256(TRACE_DOMAIN + jcs.canonicalize(event)).digest()


def check_members(event):
    """Raises InvalidLine unless the event, and each submission or dropped trace in it, has exactly the members of the format."""
    if isinstance(event, dict) and event.get('action') == 'traces.dropped':
        ndjson.check_members(event, DROPPED, 'a trace event')
        _check_elements(event, 'traces', DROPPED_TRACE, 'trace')
    else:
        ndjson.check_members(event, RECORDED, 'a trace event')
        _check_elements(event, 'submissions', SUBMISSION, 'submission')


def _check_elements(event, member, members, kind):
    for number, element in enumerate(event[member], 1):
        if not isinstance(element, dict):
            raise InvalidLine([('not_an_object', f'{kind} {number} is not a JSON object')], seq=event['seq'])
        try:
            ndjson.check_members(element, members, f'{kind} {number}')
        except InvalidLine as error:
            raise InvalidLine(error.problems, seq=event['seq']) from None


class TraceLog(EventLog):
    """One tenant's trace log."""

    check_members = staticmethod(check_members)
    leaf_data = staticmethod(leaf_data)
    submissions = 0

    def append(self, event):
        super().append(event)
        self.submissions += len(event.get('submissions', ()))


def verify(stream, tenant_id=None, tree=None, steps=None):
    """Reads an export to its end and returns the TraceLog. Raises InvalidLine at the first invalid line."""
    return ndjson.read_into(TraceLog(tenant_id, tree, steps), stream)
