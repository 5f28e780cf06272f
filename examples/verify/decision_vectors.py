"""The golden vectors of promotion decisions; written to a file by make_vectors.py."""

import base64

import decision
import jcs
from vector_values import AGENT, EVALUATION, HARNESS, KEY_ID, KEY_WRITER, MASTER_SECRET, ORIGIN, OTHER_KEY_ID, TENANT


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
    """The complete response for a signed part (D)."""
    key = decision.decision_key(MASTER_SECRET, TENANT, signed_part['key_id'])
    digest = decision.response_sha256(signed_part)
    signature_members = {'response_sha256': digest, 'signature': decision.signature(key, digest), 'signature_alg': decision.SIGNATURE_ALG}
    return {**signed_part, **signature_members}


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
        'origin': ORIGIN + ' The checks and messages only show the format. These vectors do not test the rules of the gate.',
        'how': 'decision_key = HKDF-SHA256(ikm = master secret, salt = "", info, 32); canonical = JCS(D); response_sha256 = '
        'hex(SHA-256(canonical)); signature = hex(HMAC-SHA256(decision_key, message)), where message is the three lines below '
        'with response_sha256 in the third.',
        'master_secret_base64': base64.b64encode(MASTER_SECRET).decode('ascii'),
        'tenant_id': TENANT,
        'info': f'countersign/decision-key/v1|{TENANT}|<key_id>',
        'message': 'countersign/decision/v1\nHMAC-SHA256\n<response_sha256>\n',
        'cases': cases,
    }
