"""The golden vectors of the trace log; written to a file by make_vectors.py."""

import hashlib

import trace_events
from vector_values import AGENT, KEY_WRITER, ORIGIN, TENANT


_TRACE = 'c2b1a090-1111-4222-8333-4444555566%02d'


def _submission(trace, number, document, **changed):
    return {
        'agent_id': AGENT,
        'document_sha256': hashlib.sha256(document).hexdigest(),
        'export_sha256': None,
        'id': _TRACE % trace,
        'number': number,
        'recorded_by': KEY_WRITER,
        'trace_id': f'run-{trace}',
        **changed,
    }


TRACE_SUBMISSIONS = [
    [_submission(1, 1, b'{"trace_id":"run-1","agent_name":"refund-agent"}')],
    [
        _submission(1, 2, b'{"trace_id":"run-1","outcome":"failure"}'),
        _submission(2, 1, b'{"trace_id":"run-2"}', agent_id=None, trace_id='run-2 \u00e9 \U0001f600'),
        _submission(3, 1, b'{"trace_id":"run-3"}', export_sha256=hashlib.sha256(b'an export').hexdigest()),
    ],
]


def trace_event_vectors():
    log, events = trace_events.TraceLog(), []
    for seq, submissions in enumerate(TRACE_SUBMISSIONS, 1):
        event = {
            'version': 1,
            'tenant_id': TENANT,
            'seq': seq,
            'recorded_at': f'2026-11-20T12:00:{seq:02d}.500Z',
            'received_at': f'2026-11-20T12:00:{seq:02d}.499Z',
            'action': 'traces.recorded',
            'submissions': submissions,
        }
        log.append(event)
        events.append({'event': event, 'leaf_data': trace_events.leaf_data(event).hex()})
    event = {
        'version': 1,
        'tenant_id': TENANT,
        'seq': 3,
        'recorded_at': '2027-11-21T00:00:00.000Z',
        'action': 'traces.dropped',
        'reason': 'retention',
        'traces': [{'id': _TRACE % 1, 'submissions': 2}, {'id': _TRACE % 3, 'submissions': 1}],
        'exports': [hashlib.sha256(b'an export').hexdigest()],
    }
    log.append(event)
    events.append({'event': event, 'leaf_data': trace_events.leaf_data(event).hex()})
    return {
        'origin': ORIGIN,
        'how': 'leaf_data = SHA-256("countersign/traces/v1\\n" || JCS(event)); root = the RFC 6962 root of all leaf_data.',
        'events': events,
        'root': log.tree.root().hex(),
    }
