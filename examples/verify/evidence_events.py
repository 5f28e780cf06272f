"""The evidence log: all events that promotion checks depend on (docs/formats.md, "Evidence event")."""

import hashlib
import re

import evidence_state
import forms
import jcs
import ndjson
from key_events import EventLog
from ndjson import InvalidLine
from verdict import quote

EVIDENCE_DOMAIN = b'countersign/evidence/v1\n'
STATUSES = ('scheduled', 'running', 'passing', 'failing')

_EXACT_INSTANT = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z')


def _is_exact_instant_or_null(value):
    return value is None or (isinstance(value, str) and _EXACT_INSTANT.fullmatch(value) is not None)


def _is_number_or_null(value):
    return value is None or type(value) in (int, float)


def _is_one_of(*texts):
    return lambda value: isinstance(value, str) and value in texts


COMMON = {
    'version': (lambda value: type(value) is int and value == 1, 'the number 1'),
    'tenant_id': (forms.is_uuid, 'a UUID in lower case'),
    'seq': (forms.is_seq, 'a whole number of at least 1'),
    'recorded_at': (forms.is_instant, 'a UTC time with milliseconds, such as 2026-11-20T09:30:00.123Z'),
    'recorded_by': (forms.is_recorded_by, 'operator, system:promotion-gate, system:retention, key:<12 hex digits> or user:<UUID>'),
    'action': (forms.is_text, 'a string'),
    'agent_id': (forms.is_uuid, 'a UUID in lower case'),
}

MEMBERS = {
    'agent.registered': {'agent_name': (forms.is_text, 'a string')},
    'agent.risk_set': {'risk_level': (_is_one_of('low', 'high'), 'low or high')},
    'evaluation.recorded': {
        'category': (forms.is_text_or_null, 'a string or null'),
        'document_sha256': (forms.is_hash, '64 lower-case hex digits'),
        'evaluated_at': (_is_exact_instant_or_null, 'a UTC time with microseconds or null'),
        'evaluation_id': (forms.is_uuid, 'a UUID in lower case'),
        'harness_id': (forms.is_uuid_or_null, 'a UUID in lower case or null'),
        'name': (forms.is_text, 'a string'),
        'pass_rate': (_is_number_or_null, 'a number or null'),
        'status': (_is_one_of(*STATUSES), f'one of {", ".join(STATUSES)}'),
        'suite': (forms.is_text_or_null, 'a string or null'),
    },
    'approval.decided': {
        'evaluation_id': (forms.is_uuid, 'a UUID in lower case'),
        'status': (_is_one_of('approved', 'rejected'), 'approved or rejected'),
    },
    'approval.withdrawn': {'evaluation_id': (forms.is_uuid, 'a UUID in lower case')},
    'incident.opened': {
        'incident_id': (forms.is_uuid, 'a UUID in lower case'),
        'recertification_required': (lambda value: isinstance(value, bool), 'true or false'),
    },
    'recertifications.closed': {
        'evaluation_id': (forms.is_uuid, 'a UUID in lower case'),
        'incident_ids': (lambda value: isinstance(value, list) and all(map(forms.is_uuid, value)), 'an array of UUIDs in lower case'),
    },
}


def leaf_data(event):
    """The leaf data of an event."""
    return hashlib.sha256(EVIDENCE_DOMAIN + jcs.canonicalize(event)).digest()


def check_members(event):
    """Raises InvalidLine unless this is an event with exactly the members of its action."""
    action = event.get('action') if isinstance(event, dict) else None
    if not isinstance(action, str) or action not in MEMBERS:
        seq = event.get('seq') if isinstance(event, dict) and type(event.get('seq')) is int else None
        raise InvalidLine([('unknown_action', f'action {quote(action)} is not known to this verifier')], seq=seq)
    ndjson.check_members(event, {**COMMON, **MEMBERS[action]}, f'an event {action}')


class EvidenceLog(EventLog):
    """One tenant's evidence log. The first event of an agent registers the agent, and a name is registered once."""

    check_members = staticmethod(check_members)
    leaf_data = staticmethod(leaf_data)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.state = evidence_state.State()

    @property
    def agents(self):
        return self.state.agents

    def conflicts(self, event):
        agent = event['agent_id']
        is_registration = event['action'] == 'agent.registered'
        if not is_registration and agent not in self.agents:
            return [('unknown_agent', f'agent {agent} is not registered')]
        if is_registration and agent in self.agents:
            return [('registered_twice', f'agent {agent} is registered twice')]
        namesake = self.state.by_name.get(event['agent_name']) if is_registration else None
        if namesake is not None:
            return [('registered_twice', f"agent {agent} is registered with the name of agent {namesake.agent['id']}")]
        return []

    def append(self, event):
        super().append(event)
        self.state.apply(event)


def verify(stream, tenant_id=None, tree=None, steps=None):
    """Reads an export to its end and returns the EvidenceLog. Raises InvalidLine at the first invalid line."""
    return ndjson.read_into(EvidenceLog(tenant_id, tree, steps), stream)
