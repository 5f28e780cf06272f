#!/usr/bin/env python3
"""Writes the golden vectors for the tests of the service. This verifier alone makes them, so that the two implementations check
each other. Both were written from docs/formats.md, and they share no code.

`make_vectors.py` writes the files. `make_vectors.py --check` compares them with what it would write.
The output depends on neither clock nor random numbers. Trees, proofs and attestations come from proof_vectors.py. The published
vectors beside them (RFC 8785, 5869, 4231, 6962, signed-note) are not made here.
"""

import sys

sys.dont_write_bytecode = True

import base64
import hashlib
import json
import pathlib

import decision
import evidence
import evidence_events
import jcs
import ledger
import ndjson
import proof_vectors
import seal_vectors
import trace_events

VECTORS = pathlib.Path(__file__).resolve().parents[2] / 'packages' / 'core' / 'test' / 'vectors'
ORIGIN = (
    'examples/verify/make_vectors.py, from docs/formats.md alone and independent of packages/core. '
    'The people and figures in it are invented.'
)

TENANT = '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'
AGENT = '0b6f4d52-71c3-4e8b-9a2d-6c5e8f1a3b70'
HARNESS = 'c2a9e1f4-5d60-4b37-8e12-9f7a0d3c6b58'
EVALUATION = '7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a9b2d'
MASTER_SECRET = bytes(range(32))
KEY_ID = 'dk-1'
OTHER_KEY_ID = 'dk-2'
KEY_WRITER = 'key:4f9a02c7d1e6'


# --- The audit chain --------------------------------------------------------------------------------------------------

# One string per JSON text, because the tests need its spelling: the sender chooses member order, escapes and number forms, and
# they must not change the hash. chain_vectors() adds prev_hash and row_hash.
ENTRIES = [
    (
        'all that may be null is null',
        """{"version":1,"tenant_id":"%(tenant)s","seq":1,"id":"a1f0c3d2-0001-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:00.123Z","recorded_by":"operator","actor":"ops","action":"workspace.created",
        "subject":null,"rationale":null,"framework":null,"trace_id":null,"agent_id":null,"retention_until":null,"metadata":null}""",
    ),
    (
        'every member has a value; characters beyond ASCII and beyond the basic plane; the same instant as the row before',
        """{"version":1,"tenant_id":"%(tenant)s","seq":2,"id":"a1f0c3d2-0002-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:00.123Z","recorded_by":"%(writer)s","actor":"ci:deploy-prod","action":"agent.promoted",
        "subject":"Größenprüfer 😀","rationale":"Geprüft von Łukasz, 承認済み — d'accord 👩‍🚀","framework":"EU AI Act, Art. 14",
        "trace_id":"run-2026-11-20/0042","agent_id":"%(agent)s","retention_until":"2033-12-31","metadata":{"build":4711,"green":true}}""",
    ),
    (
        'every character that JSON.stringify escapes, and those that others escape but JCS does not; no normalization',
        r"""{"version":1,"tenant_id":"%(tenant)s","seq":3,"id":"a1f0c3d2-0003-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:01.000Z","recorded_by":"%(writer)s","actor":"importer","action":"evidence.imported",
        "subject":"\u0000\u0001\b\t\n\u000B\f\r\u000E\u001F \u0020","rationale":"\"\\\/<script>&'\u007f\u0080\u009f\u00ad\u2028\u2029\ufeff\ufffe\uffff \ud83d\ude00 \u00C5 A\u030A",
        "framework":null,"trace_id":null,"agent_id":null,"retention_until":null,"metadata":{"nul":"a\u0000b","sep":"\u2028"}}""",
    ),
    (
        'member names: UTF-16 order differs from code point order, names that look like numbers, empty and awkward names',
        r"""{"version":1,"tenant_id":"%(tenant)s","seq":4,"id":"a1f0c3d2-0004-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:02.999Z","recorded_by":"%(writer)s","actor":"runtime","action":"policy.evaluated",
        "subject":"order","rationale":null,"framework":null,"trace_id":null,"agent_id":null,"retention_until":null,
        "metadata":{"\uFB33":"hebrew","\ud83d\ude00":"astral","\uE000":"private use","\u20ac":"euro","z":1,"aa":2,"a":3,"A":4,"":5,
        "10":6,"9":7,"1":8,"-1":9,"\n":10,"\u007f":11,"\u0000":12,"__proto__":{"constructor":13,"toString":null},"a\u0301":14,"\u00e1":15,
        "nested":{"b":[{"y":[],"x":{}},[[["deep"]]],"",null,true,false],"a":{"ﬀ":1,"𐀀":2}}}}""",
    ),
    (
        'numbers: every form of ECMAScript Number::toString, in spellings that differ from it',
        """{"metadata":{"zero":0,"one":1.0,"minus":-1,"exponent":1E+2,"trailing":4.50,"tenth":0.1,"long":123456789.125,
        "e-6":0.000001,"e-7":0.0000001,"1e20":100000000000000000000,"1e21":1000000000000000000000,"1e23":1e23,
        "safe":9007199254740991,"minus safe":-9007199254740991,"2^53":9007199254740992,"greatest":1.7976931348623157e308,"least":5e-324,
        "round to even":1424953923781206.2,"small":-0.0000033333333333333333,"many":[333333333.3333333,0.002,1e-27,1e30,12e-1]},
        "retention_until":"2027-02-28","agent_id":null,"trace_id":null,"framework":null,"rationale":"numbers","subject":"numbers",
        "action":"metrics.recorded","actor":"harness","recorded_by":"%(writer)s","recorded_at":"2026-11-20T23:59:59.999Z",
        "id":"a1f0c3d2-0005-4b6e-8d7a-2f4c6e8a0b1d","seq":5,"tenant_id":"%(tenant)s","version":1}""",
    ),
    (
        'a blocked promotion, as the gate writes it',
        """{"version":1,"tenant_id":"%(tenant)s","seq":6,"id":"a1f0c3d2-0006-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-21T00:00:00.000Z","recorded_by":"system:promotion-gate","actor":"promotion-gate","action":"evaluation.failed",
        "subject":"refund-agent","rationale":"%(message)s","framework":null,
        "trace_id":null,"agent_id":"%(agent)s","retention_until":null,"metadata":{"decision_id":"5c0e8f2a-6b1d-4d3f-9e47-8a2c4e6f0b13",
        "response_sha256":"%(blocked)s","key":"4f9a02c7d1e6"}}""",
    ),
]


def chain_vectors():
    values = {
        'tenant': TENANT,
        'agent': AGENT,
        'writer': KEY_WRITER,
        'message': BLOCKED['message'],
        'blocked': decision_response(BLOCKED)['response_sha256'],
    }
    chain = ledger.Chain(TENANT)
    entries = []
    for what, template in ENTRIES:
        text = template.replace('\n        ', '') % values
        # A possible spelling in an export: the sender's own text, followed by the two hashes.
        unfinished = text[:-1] + f',"prev_hash":{json.dumps(chain.head)}' + '}'
        entry = jcs.read(unfinished)
        canonical = jcs.canonicalize(entry)
        row_hash = ledger.row_hash(entry)
        line = unfinished[:-1] + f',"row_hash":"{row_hash}"' + '}'
        prev_hash = chain.head
        chain.append(ndjson.read_line(line.encode('utf-8')))
        entries.append(
            {
                'what': what,
                'line': line,
                'canonical': canonical.decode('utf-8'),
                'canonical_sha256_without_prefix': hashlib.sha256(canonical).hexdigest(),
                'prev_hash': prev_hash,
                'row_hash': row_hash,
            }
        )
    return {
        'origin': ORIGIN,
        'how': 'line is one line of an export, in any spelling; canonical is JCS of its 16 members without row_hash; '
        'row_hash is hex(SHA-256(prefix || canonical in UTF-8)). Parse the line, do not take it as text.',
        'prefix': ledger.ROW_DOMAIN.decode('ascii'),
        'tenant_id': TENANT,
        'entries': entries,
    }


# --- Promotion decisions ----------------------------------------------------------------------------------------------


def _checks(*failed):
    names = ('recent_passing_evaluation', 'pass_rate', 'high_risk_approval', 'recertification')
    failures = dict(failed)
    return [
        {
            'condition': name,
            'passed': name not in failures,
            'reason': failures[name][0] if name in failures else None,
            'message': failures[name][1] if name in failures else 'Holds.',
        }
        for name in names
    ]


_BELOW = 'The latest evaluation passed 42 percent, below the 80 percent required. Evaluate again after the agent is mended.'
_UNKNOWN = 'No evaluation of «Größenprüfer 😀» is known; report one, at most 72 hours old, and ask again.'

ALLOWED = {
    'allowed': True,
    'reason': 'all_conditions_met',
    'message': 'All four conditions are met.',
    'event': 'promotion.allowed',
    'evaluation_id': EVALUATION,
    'agent_id': AGENT,
    'policy': 'recent-passing-evaluation/v1',
    'threshold': 80,
    'required_threshold': 80,
    'actual_threshold': 97.5,
    'evaluation_age': 0.0004,
    'timestamp': '2026-11-20T12:00:00.000Z',
    'evaluation': {
        'id': EVALUATION,
        'name': 'nightly regression',
        'status': 'passing',
        'pass_rate': 97.5,
        'category': 'regression',
        'harness_id': HARNESS,
        'recorded_at': '2026-11-20T11:59:58.560Z',
        'recorded_by': KEY_WRITER,
    },
    'checks': _checks(),
    'decision_id': '8d2f4b6c-0e1a-4c3d-9f5b-7a9c1e3d5f70',
    'key_id': KEY_ID,
}

BLOCKED = {
    'allowed': False,
    'reason': 'pass_rate_below_threshold',
    'message': _BELOW,
    'event': 'evaluation.failed',
    'evaluation_id': EVALUATION,
    'agent_id': AGENT,
    'policy': 'recent-passing-evaluation/v1',
    'threshold': 80,
    'required_threshold': 80,
    'actual_threshold': 42,
    'evaluation_age': 71.9999,
    'timestamp': '2026-11-20T23:59:59.999Z',
    'evaluation': {
        'id': EVALUATION,
        'name': 'all four trials',
        'status': 'passing',
        'pass_rate': 42,
        'category': None,
        'harness_id': None,
        'recorded_at': '2026-11-18T00:00:00.359Z',
        'recorded_by': KEY_WRITER,
    },
    'checks': _checks(('pass_rate', ('pass_rate_below_threshold', _BELOW))),
    'decision_id': '5c0e8f2a-6b1d-4d3f-9e47-8a2c4e6f0b13',
    'key_id': KEY_ID,
}

UNKNOWN_AGENT = {
    'allowed': False,
    'reason': 'no_recent_evaluation',
    'message': _UNKNOWN,
    'event': 'promotion.blocked',
    'evaluation_id': None,
    'agent_id': None,
    'policy': 'recent-passing-evaluation/v1',
    'threshold': 99.5,
    'required_threshold': 99.5,
    'actual_threshold': None,
    'evaluation_age': None,
    'timestamp': '2026-11-20T12:00:00.001Z',
    'evaluation': {},
    'checks': _checks(
        ('recent_passing_evaluation', ('no_recent_evaluation', _UNKNOWN)),
        ('pass_rate', ('pass_rate_below_threshold', 'No pass rate is known.')),
        ('high_risk_approval', ('approval_required', 'The risk level is not known.')),
        ('recertification', ('recertification_open', 'Not known to be closed.')),
    ),
    'decision_id': 'e1a3c5d7-9b0f-4e2c-8a4d-6f8b0c2e4a96',
    'key_id': OTHER_KEY_ID,
}


def decision_response(signed_part):
    """The complete signed response for a D."""
    key = decision.decision_key(MASTER_SECRET, TENANT, signed_part['key_id'])
    digest = decision.response_sha256(signed_part)
    about = {'response_sha256': digest, 'signature': decision.signature(key, digest), 'signature_alg': decision.SIGNATURE_ALG}
    return {**signed_part, **about}


def decision_vectors():
    cases = []
    for what, signed_part in (
        ('allowed', ALLOWED),
        ('blocked, below the threshold', BLOCKED),
        ('blocked, an unknown agent with a name beyond ASCII: nulls, an empty evaluation, the second live key', UNKNOWN_AGENT),
    ):
        response = decision_response(signed_part)
        canonical = jcs.canonicalize(signed_part)
        cases.append(
            {
                'what': what,
                'key_id': signed_part['key_id'],
                'decision_key_hex': decision.decision_key(MASTER_SECRET, TENANT, signed_part['key_id']).hex(),
                'D': signed_part,
                'canonical': canonical.decode('utf-8'),
                'canonical_hex': canonical.hex(),
                'response_sha256': response['response_sha256'],
                'signature': response['signature'],
                'response': response,
            }
        )
    return {
        'origin': ORIGIN + ' The checks and messages show the shape; what the gate decides is not held by this file.',
        'how': 'decision_key = HKDF-SHA256(ikm = master secret, salt = "", info, 32); canonical = JCS(D); response_sha256 = '
        'hex(SHA-256(canonical)); signature = hex(HMAC-SHA256(decision_key, message)), where message is the three lines below '
        'with response_sha256 in the third.',
        'master_secret_base64': base64.b64encode(MASTER_SECRET).decode('ascii'),
        'tenant_id': TENANT,
        'info': f'countersign/decision-key/v1|{TENANT}|<key_id>',
        'message': 'countersign/decision/v1\nHMAC-SHA256\n<response_sha256>\n',
        'cases': cases,
    }


# --- Decisions that name their evidence -------------------------------------------------------------------------------

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


def _document(**changed):
    return {
        'agent': {'id': AGENT, 'name': 'refund-agent', 'risk_level': 'low'},
        'approval': None,
        'asked': {'agent_id': None, 'agent_name': 'refund-agent', 'harness_id': None, 'max_age_hours': 72, 'min_pass_rate': 80},
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
    ('allowed, with a nonce, on an approval and the time of the run', _document(agent=_HIGH, approval=_APPROVED, evaluation={**_EVALUATION, 'evaluated_at': '2026-11-19T11:00:00.000000Z'}), 'q3mZ0cX8s1v7bTqg9Jw2Lw'),
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


def evidence_vectors():
    cases = []
    for what, document, nonce in DOCUMENTS:
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
            **({} if nonce is None else {'nonce': nonce}),
        }
        cases.append({'what': what, 'evidence': canonical.decode('utf-8'), 'response': decision_response(signed_part)})
    return {
        'origin': ORIGIN,
        'how': 'evidence is the canonical text; evidence_sha256 = hex(SHA-256(evidence in UTF-8)); the verdict of the response follows from it. '
        'Keys as in decision.json.',
        'decision_key_hex': decision.decision_key(MASTER_SECRET, TENANT, KEY_ID).hex(),
        'cases': cases,
    }


# --- Evidence events --------------------------------------------------------------------------------------------------

_OTHER_AGENT = '5e8f1a3b-70c3-4e8b-9a2d-0b6f4d526c55'
_INCIDENT = '4c3d9f5b-7a9c-4e3d-8f70-8d2f4b6c0e1a'


def _recorded(number, **changed):
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


def _answered(number, **answer):
    return {'agent_id': AGENT, 'evaluation_id': f'7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a{number:04d}', **answer}


EVIDENCE_FACTS = [
    {'action': 'agent.registered', 'agent_id': AGENT, 'agent_name': 'refund-agent'},
    _recorded(1),
    {'action': 'agent.risk_set', 'agent_id': AGENT, 'risk_level': 'high'},
    _answered(1, action='approval.decided', status='approved'),
    {'action': 'agent.registered', 'agent_id': _OTHER_AGENT, 'agent_name': 'r\u00e9fund-agent \U0001f600'},
    _recorded(2, harness_id=HARNESS, suite='safety', category='regression', evaluated_at='2026-11-20T11:00:00.123456Z'),
    _answered(2, action='approval.decided', status='rejected'),
    _answered(1, action='approval.withdrawn'),
    {'action': 'incident.opened', 'agent_id': AGENT, 'incident_id': _INCIDENT, 'recertification_required': True},
    {'action': 'incident.opened', 'agent_id': _OTHER_AGENT, 'incident_id': HARNESS, 'recertification_required': False},
    _recorded(3, suite='safety', pass_rate=1e-7, status='failing'),
    _recorded(4, pass_rate=88),
    _answered(4, action='recertifications.closed', incident_ids=[_INCIDENT]),
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
        'how': 'leaf_data = SHA-256("countersign/evidence/v1\\n" || JCS(event)); root over all of them by RFC 6962. '
        'evidence: the members of an evidence document that follow from the first size events.',
        'events': events,
        'root': log.tree.root().hex(),
        'questions': json.loads(json.dumps(questions)),
    }


# --- Log of traces ----------------------------------------------------------------------------------------------------


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
        'how': 'leaf_data = SHA-256("countersign/traces/v1\\n" || JCS(event)); root over all of them by RFC 6962.',
        'events': events,
        'root': log.tree.root().hex(),
    }


# --- Files ------------------------------------------------------------------------------------------------------------


def files():
    """Name and bytes of each file. ASCII, so that no editor or terminal changes a character that matters."""
    chain, decisions = chain_vectors(), decision_vectors()
    row_hashes = [entry['row_hash'] for entry in chain['entries']]
    responses = [case['response'] for case in decisions['cases']]
    digests = [response['response_sha256'] for response in responses]
    made = {
        'audit-chain.json': chain,
        'decision.json': decisions,
        'evidence.json': evidence_vectors(),
        'evidence-events.json': evidence_event_vectors(),
        'trace-events.json': trace_event_vectors(),
        'checkpoints.json': proof_vectors.checkpoint_vectors(ORIGIN, TENANT, row_hashes, digests),
        'head-seals.json': seal_vectors.seal_vectors(ORIGIN, MASTER_SECRET, TENANT, row_hashes),
        'row-seals.json': seal_vectors.row_seal_vectors(ORIGIN, MASTER_SECRET, TENANT),
        'signing-key-succession.json': proof_vectors.succession_vectors(ORIGIN),
        'attestation.json': proof_vectors.attestation_vectors(ORIGIN, responses),
    }
    return {name: (json.dumps(value, indent=2) + '\n').encode('ascii') for name, value in made.items()}


def main(arguments):
    if arguments not in ([], ['--check']):
        print('usage: make_vectors.py [--check]', file=sys.stderr)
        return 2
    stale = 0
    for name, data in files().items():
        path = VECTORS / name
        if arguments == ['--check']:
            same = path.is_file() and path.read_bytes() == data
            stale += not same
            print(f'{name}: {"up to date" if same else "out of date"}')
        else:
            path.write_bytes(data)
            print(f'{name}: written, {len(data)} bytes')
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
