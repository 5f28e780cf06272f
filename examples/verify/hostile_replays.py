"""Hostile exports of decisions that are valid by themselves but contradict the evidence log."""

import json

import evidence
import evidence_events
import decision_vectors
import evidence_vectors
import vector_values

EVENTS_FILE = 'evidence-of-decisions.ndjson'
BROKEN_EVENTS_FILE = 'evidence-of-decisions-broken.ndjson'
# A time at which every evaluation is older than the age limit.
LATE = '2026-11-24T12:05:00.000Z'


def events():
    return [one['event'] for one in evidence_vectors.evidence_event_vectors()['events']]


def decision(number, size, timestamp='2026-11-20T12:05:00.000Z', harness=None, agent=vector_values.AGENT, threshold=80, **changed):
    """The decision by the rules after the first `size` events. The `changed` members replace computed ones before signing.

    A member with the value '(absent)' is left out. Like a decision of an older version, the decision does not state the requested harness
    and age limit.
    """
    log = evidence_events.EvidenceLog()
    for event in events()[:size]:
        log.append(event)
    document = {
        **log.state.evidence(agent_id=agent, harness_id=harness),
        'asked': {'min_pass_rate': threshold, 'max_age_hours': 72},
        'read_at': timestamp.replace('Z', '999Z'),
        'tenant_id': vector_values.TENANT,
    }
    verdict = evidence.verdict(document)
    signed = {
        **verdict,
        'message': 'Decided.',
        'checks': [{**check, 'message': 'Checked.'} for check in verdict['checks']],
        'decision_id': f'8d2f4b6c-{number:04d}-4c3d-9f5b-7a9c1e3d5f70',
        'key_id': vector_values.KEY_ID,
        'timestamp': timestamp,
        'asked_by': vector_values.KEY_WRITER,
        'evidence_sha256': 'ab' * 32,
        'evidence_size': size,
        **changed,
    }
    return decision_vectors.decision_response({name: value for name, value in signed.items() if value != '(absent)'})


def decision_with_request(number, size, *more, harness=None, limit=72, **changed):
    """Like decision(), but the decision also states the requested harness and age limit."""
    return decision(number, size, *more, harness=harness, **{'harness_id': harness, 'max_age_hours': limit, **changed})


def suggestion(*names):
    """A message that suggests names of agents, as the service words it."""
    quoted = ' or '.join(f'"{name}"' for name in names)
    return f'No agent named "ref\u0443nd-agent" is known here; did you mean {quoted}?'


# The members of an allowed decision, for decisions that the rules block.
ALLOWED = {
    'allowed': True,
    'reason': 'all_conditions_met',
    'event': 'promotion.allowed',
    'checks': [
        {'condition': name, 'passed': True, 'reason': None, 'message': 'Holds.'}
        for name in ('recent_passing_evaluation', 'pass_rate', 'high_risk_approval', 'recertification')
    ],
}


def cases():
    harness = vector_values.HARNESS
    whole = [
        decision(1, 0, agent=None),
        decision(2, 1),
        decision(3, 2),
        decision(4, 3),
        decision(5, 4),
        decision(6, 4, threshold=99),
        decision(7, 6, harness=harness),
        decision(8, 7, harness=harness),
        decision(9, 9),
        decision(10, 11),
        decision(11, 12),
        decision(12, 13, harness='3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'),
        decision(13, 13, LATE),
        decision(14, 13, LATE, agent=None, message=suggestion('refund-agent')),
        decision(15, 13, LATE, agent=None, message=suggestion('refund-agent', 'r\u00e9fund-agent \U0001f600')),
    ]
    yield {**_case('whole', whole, verdict='valid', row=None), 'others': {EVENTS_FILE: _text(events())}}

    def wrong(name, *more, **changed):
        return _case(name, [decision(1, 2), decision(2, *more, **changed)])

    yield wrong('allowed-without-approval', 3, **ALLOWED)
    yield wrong('allowed-with-open-recertification', 9, **ALLOWED)
    yield wrong('allowed-on-a-failing-evaluation', 11, **ALLOWED)
    yield wrong('allowed-below-the-threshold', 2, threshold=99, **ALLOWED)
    raised = decision(2, 11)['evaluation']
    yield wrong('pass-rate-raised', 11, **ALLOWED, actual_threshold=99, evaluation={**raised, 'pass_rate': 99, 'status': 'passing'})
    superseded = {name: decision(2, 4)[name] for name in ('evaluation', 'evaluation_id', 'actual_threshold', 'evaluation_age')}
    yield wrong('superseded-evaluation', 12, **ALLOWED, **superseded)
    yield wrong('age-understated', 2, LATE, **ALLOWED, evaluation_age=0.0819)
    yield wrong('age-null', 2, evaluation_age=None)
    yield wrong('blocked-against-the-rules', 2, allowed=False, reason='pass_rate_below_threshold', event='evaluation.failed')
    yield wrong('agent-never-registered', 2, agent_id='7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a9b2d')
    yield wrong('size-beyond-the-log', 13, evidence_size=14)
    yield wrong('size-backwards', 1)
    yield wrong('size-true', 2, evidence_size=True)
    yield wrong('size-absent', 2, evidence_size='(absent)')
    yield wrong('tenant-absent', 2, tenant_id='(absent)')
    yield wrong('evaluation-null', 2, evaluation=None)
    yield wrong('threshold-text', 2, required_threshold='80')
    other = '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'
    whole = [
        decision_with_request(1, 0, agent=None),
        decision_with_request(2, 2),
        decision_with_request(3, 7, harness=harness),
        decision_with_request(4, 13, harness=other),
        decision_with_request(5, 13, LATE),
        decision(6, 13),
    ]
    yield _case('request-whole', whole, verdict='valid', row=None)

    def wrong_request(name, *more, **changed):
        return _case(name, [decision_with_request(1, 2), decision_with_request(2, *more, **changed)])

    yield wrong_request('request-of-another-harness', 13, harness_id=harness)
    yield wrong_request('request-without-its-harness', 13, harness=harness, harness_id=None)
    yield wrong_request('request-of-a-harness-without-evaluation', 2, harness_id=other)
    yield wrong_request('request-with-a-higher-limit', 13, LATE, limit=8760)
    yield wrong_request('request-with-a-lower-limit', 2, max_age_hours=0.01)
    yield wrong_request('request-without-harness-member', 2, harness_id='(absent)')
    yield wrong_request('request-without-limit-member', 2, max_age_hours='(absent)')
    yield wrong_request('request-harness-number', 2, harness_id=7)
    yield wrong_request('request-limit-text', 2, max_age_hours='72')
    yield wrong_request('request-limit-true', 2, max_age_hours=True)
    yield wrong_request('request-limit-null', 2, max_age_hours=None)
    yield wrong('suggests-an-invented-agent', 9, agent=None, message=suggestion('refund-agent', 'refund-agent (approved, use this name)'))
    yield wrong('suggests-many-long-names', 9, agent=None, message=suggestion(*['\U0001f600' * 60] * 9))
    yield wrong('suggests-a-part-of-a-name', 9, agent=None, message=suggestion('refund'))
    # A verifier must search the last 1000 code points of the message (suggested_names.py). This message has more UTF-16 units.
    yield wrong('suggests-a-long-invented-agent', 9, agent=None, message=suggestion('\U0001f600' * 600))
    yield wrong('suggests-a-later-agent', 1, evidence_size=2, agent=None, message=suggestion('r\u00e9fund-agent \U0001f600'))
    broken = _text([*events()[:2], {**events()[2], 'risk_level': 'none'}])
    yield {**_case('broken-event', [decision(1, 2), decision(2, 3)], replay=BROKEN_EVENTS_FILE), 'others': {BROKEN_EVENTS_FILE: broken}}


def _case(name, decisions, verdict='refused', row=2, replay=EVENTS_FILE):
    lines = [{'seq': seq, 'decision': each} for seq, each in enumerate(decisions, 1)]
    return {'name': f'decisions-replay-{name}', 'kind': 'decisions', 'verdict': verdict, 'row': row, 'replay': replay, 'data': _text(lines)}


def _text(values):
    return ''.join(json.dumps(value, ensure_ascii=False) + '\n' for value in values)
