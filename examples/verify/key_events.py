"""The key audit trail: the events of a tenant's keys (docs/formats.md, "Key event")."""

import hashlib

import corrections
import forms
import jcs
import merkle
import ndjson
from ndjson import InvalidLine
from verdict import quote

KEY_EVENT_DOMAIN = b'countersign/key-event/v2\n'

ACTIONS = ('minted', 'rotated', 'revoked', 'scopes_changed')

MEMBERS = {
    'version': (lambda value: type(value) is int and value == 2, 'the number 2'),
    'tenant_id': (forms.is_uuid, 'a UUID in lower case'),
    'seq': (forms.is_seq, 'a whole number of at least 1'),
    'id': (forms.is_uuid, 'a UUID in lower case'),
    'recorded_at': (forms.is_instant, 'a UTC time with milliseconds, such as 2026-11-20T09:30:00.123Z'),
    'recorded_by': (forms.is_recorded_by, 'operator, system:promotion-gate, system:retention, key:<12 hex digits> or user:<UUID>'),
    'action': (lambda value: value in ACTIONS, f'one of {", ".join(ACTIONS)}'),
    'key_id': (forms.is_uuid, 'a UUID in lower case'),
    'kind': (lambda value: value in ('live', 'read'), 'live or read'),
    'prefix': (forms.is_prefix, '12 lower-case hex digits'),
    'name': (forms.is_text, 'a string'),
    'scopes': (lambda value: isinstance(value, list) and all(map(forms.is_text, value)), 'an array of strings'),
    'credential_sha256': (forms.is_hash, '64 lower-case hex digits'),
    'expires_at': (forms.is_instant_or_null, 'a UTC time with milliseconds or null'),
}


def leaf_data(event):
    """The leaf data of an event."""
    return hashlib.sha256(KEY_EVENT_DOMAIN + jcs.canonicalize(event)).digest()


class EventLog:
    """A tenant's log of events, up to the last line read. It has no hash chain, so only its tree reveals changes.

    `steps` are the steps back in time that the audit ledger allows for this log. Without them, times are not checked.
    """

    def __init__(self, tenant_id=None, tree=None, steps=None):
        self._times = corrections.LogTimes(steps)
        self.tenant_id = tenant_id
        self.tree = merkle.Tree() if tree is None else tree
        self.entries = 0

    def append(self, event):
        """Appends the next event. If it raises InvalidLine, `entries` and `tree` are unchanged."""
        self.check_members(event)
        try:
            data = self.leaf_data(event)
        except jcs.JcsError as error:
            raise InvalidLine([(error.code, str(error))], seq=event['seq']) from None
        problems = []
        if self.tenant_id is not None and event['tenant_id'] != self.tenant_id:
            actual, expected = quote(event['tenant_id']), quote(self.tenant_id)
            problems.append(('other_tenant', f'the event belongs to tenant {actual}, not to {expected}'))
        if event['seq'] != self.entries + 1:
            problems.append(('seq_gap', f'seq is {event["seq"]}, expected {self.entries + 1}'))
        problem = None if problems else self._times.problem(event['seq'], event['recorded_at'], 'recorded_at')
        if problem is not None:
            problems.append(problem)
        if not problems:
            problems = self.conflicts(event)
        if problems:
            raise InvalidLine(problems, seq=event['seq'])
        self.tenant_id = event['tenant_id']
        self.entries += 1
        self.tree.append(data)

    def conflicts(self, event):
        """How the event contradicts the earlier ones, as a list of (code, message).

        If the list is empty, a subclass may store the event, to compare later events with it.
        """
        return []


class KeyTrail(EventLog):
    """One tenant's key audit trail. A key is minted once, and has no events after its revocation."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._keys = {}

    def conflicts(self, event):
        known_id = self._keys.get(event['prefix'], '')  # the key's ID; '' if it was never minted, None if it was revoked
        is_allowed = known_id == '' if event['action'] == 'minted' else known_id == event['key_id']
        if is_allowed:
            self._keys[event['prefix']] = None if event['action'] == 'revoked' else event['key_id']
            return []
        return [('does_not_follow', f'{quote(event["action"])} contradicts the earlier events of key {quote(event["prefix"])}')]

    check_members = staticmethod(lambda event: ndjson.check_members(event, MEMBERS, 'a key event'))
    leaf_data = staticmethod(leaf_data)


def verify(stream, tenant_id=None, tree=None, steps=None):
    """Reads an export to its end and returns the KeyTrail. Raises InvalidLine at the first invalid line."""
    return ndjson.read_into(KeyTrail(tenant_id, tree, steps), stream)
