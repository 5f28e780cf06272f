"""The golden vectors of the evidence log and of decisions with their evidence; written to files by make_vectors.py."""

import hashlib
import json

import decision
import evidence
import evidence_events
import jcs
from decision_vectors import decision_response
from vector_values import AGENT, EVALUATION, HARNESS, KEY_ID, KEY_WRITER, MASTER_SECRET, ORIGIN, TENANT


_READ_AT = '2026-11-20T12:00:00.001234Z'
_EVALUATION = {
    'category': 'regression',
    'evaluated_at': None,
    'harness_id': HARNESS,
    'id': EVALUATION,
    'name': 'nightly regression',
    'pass_rate': 97.5,
    'recorded_at': '2026-11-20T11:59:58.560789Z',
    'recorded_by': KEY_WRITER,
    'status': 'passing',
}
_ASKED = {'agent_id': None, 'agent_name': 'refund-agent', 'harness_id': None, 'max_age_hours': 72, 'min_pass_rate': 80}


def _document(**changed):
    return {
        'agent': {'id': AGENT, 'name': 'refund-agent', 'risk_level': 'low'},
        'approval': None,
        'asked': _ASKED,
        'evaluation': _EVALUATION,
        'open_recertifications': 0,
        'other_evaluations': [],
        'policy': evidence.POLICY,
        'read_at': _READ_AT,
        'similar_names': [],
        'tenant_id': TENANT,
        'version': 1,
        **changed,
    }


_HIGH = {'id': AGENT, 'name': 'refund-agent', 'risk_level': 'high'}
_APPROVED = {'decided_at': '2026-11-20T11:59:59.000001Z', 'status': 'approved'}

DOCUMENTS = [
    ('allowed', _document(), None),
    ('allowed because of an approval, with a nonce, and with the time of the evaluation run', _document(agent=_HIGH, approval=_APPROVED, evaluation={**_EVALUATION, 'evaluated_at': '2026-11-19T11:00:00.000000Z'}), 'q3mZ0cX8s1v7bTqg9Jw2Lw'),
    ('blocked: no approval', _document(agent=_HIGH), None),
    ('blocked: rejected', _document(agent=_HIGH, approval={**_APPROVED, 'status': 'rejected'}), None),
    ('blocked: an approval from the future', _document(agent=_HIGH, approval={**_APPROVED, 'decided_at': '2026-11-20T12:00:05.001235Z'}), None),
    ('blocked: below the threshold', _document(evaluation={**_EVALUATION, 'pass_rate': 42}), None),
    ('blocked: failing', _document(evaluation={**_EVALUATION, 'status': 'failing'}), None),
    ('blocked: too old by a microsecond', _document(evaluation={**_EVALUATION, 'recorded_at': '2026-11-17T12:00:00.001233Z'}), None),
    ('allowed: as old as the limit', _document(evaluation={**_EVALUATION, 'recorded_at': '2026-11-17T12:00:00.001234Z'}), None),
    ('blocked: recorded in the future', _document(evaluation={**_EVALUATION, 'recorded_at': '2026-11-20T13:00:00.000000Z'}), None),
    ('blocked: a re-certification is open', _document(open_recertifications=2), None),
    ('blocked: an unknown agent with a name beyond ASCII', _document(agent=None, evaluation=None, similar_names=['refund-agent'], asked={'agent_id': None, 'agent_name': 'r\u0435fund-agent \U0001f600', 'harness_id': HARNESS, 'max_age_hours': 1, 'min_pass_rate': 99.5}), None),
]


# Evidence of decisions that state the requested harness and age limit. Older versions signed decisions without them, as for DOCUMENTS.
DOCUMENTS_WITH_REQUEST = [
    ('allowed, stating the request', DOCUMENTS[1][1], 'q3mZ0cX8s1v7bTqg9Jw2Lw'),
    ('allowed, stating a harness', _document(asked={**_ASKED, 'harness_id': HARNESS, 'max_age_hours': 8760}), None),
    ('blocked: a harness without an evaluation', _document(evaluation=None, asked={**_ASKED, 'harness_id': TENANT, 'max_age_hours': 1}), None),
    ('blocked: too old by a microsecond, stating the limit', DOCUMENTS[7][1], None),
]


def evidence_vectors():
    cases = []
    all_documents = [(*each, False) for each in DOCUMENTS] + [(*each, True) for each in DOCUMENTS_WITH_REQUEST]
    for what, document, nonce, states_request in all_documents:
        canonical = jcs.canonicalize(document)
        decided = evidence.verdict(document)
        signed_part = {
            **decided,
            'message': what,
            'checks': [{**check, 'message': what} for check in decided['checks']],
            'decision_id': '8d2f4b6c-0e1a-4c3d-9f5b-7a9c1e3d5f70',
            'key_id': KEY_ID,
            'timestamp': '2026-11-20T12:00:00.002Z',
            'asked_by': KEY_WRITER,
            'evidence_sha256': hashlib.sha256(canonical).hexdigest(),
            'evidence_size': 412,
            **({name: document['asked'][name] for name in evidence.REQUEST_MEMBERS} if states_request else {}),
            **({} if nonce is None else {'nonce': nonce}),
        }
        cases.append({'what': what, 'evidence': canonical.decode('utf-8'), 'response': decision_response(signed_part)})
    return {
        'origin': ORIGIN,
        'how': 'evidence is the canonical text; evidence_sha256 = hex(SHA-256(evidence in UTF-8)); the verdict of the response follows from it. '
        'The decision key is derived as in decision.json.',
        'decision_key_hex': decision.decision_key(MASTER_SECRET, TENANT, KEY_ID).hex(),
        'cases': cases,
    }


_OTHER_AGENT = '5e8f1a3b-70c3-4e8b-9a2d-0b6f4d526c55'
_INCIDENT = '4c3d9f5b-7a9c-4e3d-8f70-8d2f4b6c0e1a'


def _recorded_evaluation(number, **changed):
    return {
        'action': 'evaluation.recorded',
        'agent_id': AGENT,
        'category': None,
        'document_sha256': hashlib.sha256(b'evaluation %d' % number).hexdigest(),
        'evaluated_at': None,
        'evaluation_id': f'7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a{number:04d}',
        'harness_id': None,
        'name': 'nightly regression',
        'pass_rate': 97.5,
        'status': 'passing',
        'suite': None,
        **changed,
    }


def _event_about(number, **members):
    return {'agent_id': AGENT, 'evaluation_id': f'7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a{number:04d}', **members}


EVIDENCE_FACTS = [
    {'action': 'agent.registered', 'agent_id': AGENT, 'agent_name': 'refund-agent'},
    _recorded_evaluation(1),
    {'action': 'agent.risk_set', 'agent_id': AGENT, 'risk_level': 'high'},
    _event_about(1, action='approval.decided', status='approved'),
    {'action': 'agent.registered', 'agent_id': _OTHER_AGENT, 'agent_name': 'r\u00e9fund-agent \U0001f600'},
    _recorded_evaluation(2, harness_id=HARNESS, suite='safety', category='regression', evaluated_at='2026-11-20T11:00:00.123456Z'),
    _event_about(2, action='approval.decided', status='rejected'),
    _event_about(1, action='approval.withdrawn'),
    {'action': 'incident.opened', 'agent_id': AGENT, 'incident_id': _INCIDENT, 'recertification_required': True},
    {'action': 'incident.opened', 'agent_id': _OTHER_AGENT, 'incident_id': HARNESS, 'recertification_required': False},
    _recorded_evaluation(3, suite='safety', pass_rate=1e-7, status='failing'),
    _recorded_evaluation(4, pass_rate=88),
    _event_about(4, action='recertifications.closed', incident_ids=[_INCIDENT]),
]


def evidence_event_vectors():
    log, events, questions = evidence_events.EvidenceLog(), [], []
    for seq, fact in enumerate(EVIDENCE_FACTS, 1):
        event = {
            **fact,
            'version': 1,
            'tenant_id': TENANT,
            'seq': seq,
            'recorded_at': f'2026-11-20T12:00:{seq:02d}.500Z',
            'recorded_by': KEY_WRITER,
        }
        log.append(event)
        events.append({'event': event, 'leaf_data': evidence_events.leaf_data(event).hex()})
        for asked in ({'agent_id': AGENT}, {'agent_id': AGENT, 'harness_id': HARNESS}, {'agent_name': 'refund-agent'}):
            evidence_of = log.state.evidence(**asked)
            questions.append({'size': seq, 'asked': {'agent_id': None, 'agent_name': None, 'harness_id': None, **asked}, 'evidence': evidence_of})
    return {
        'origin': ORIGIN,
        'how': 'leaf_data = SHA-256("countersign/evidence/v1\\n" || JCS(event)); root = the RFC 6962 root of all leaf_data. '
        'In each question, the member "evidence" is the part of the evidence document that follows from the first N events, '
        'where N is the member "size".',
        'events': events,
        'root': log.tree.root().hex(),
        'questions': json.loads(json.dumps(questions)),
    }
