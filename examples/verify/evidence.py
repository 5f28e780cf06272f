"""The evidence document of a decision: its digest, and the verdict that it gives (docs/formats.md, "Evidence")."""

import calendar
import hashlib
import math
import re
import time

import evidence_form
import jcs
from verdict import Invalid, quote, text_of

POLICY = 'recent-passing-evaluation/v1'
EVENTS = {
    'no_recent_evaluation': 'promotion.blocked',
    'evaluation_not_passing': 'evaluation.failed',
    'pass_rate_below_threshold': 'evaluation.failed',
    'approval_required': 'approval.required',
    'approval_rejected': 'approval.required',
    'recertification_open': 'promotion.blocked',
    'all_conditions_met': 'promotion.allowed',
}
REQUEST_MEMBERS = ('harness_id', 'max_age_hours')
_INSTANT = re.compile(r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z')
_CLOCK_TOLERANCE_MICROS = 5_000_000


def check(response, data):
    """Reads and returns an evidence document. Ignores a line feed at its end.

    Raises Invalid unless the document belongs to the decision and gives its verdict.
    """
    stated_digest, data = response.get('evidence_sha256'), data[:-1] if data.endswith(b'\n') else data
    if stated_digest is None:
        raise Invalid([('no_evidence_named', 'the decision names no evidence')])
    computed = hashlib.sha256(data).hexdigest()
    if stated_digest != computed:
        raise Invalid([('evidence_mismatch', f'evidence_sha256 is {quote(stated_digest)}, but the evidence hashes to {computed}')])
    try:
        document = jcs.read(text_of(data))
        if jcs.canonicalize(document) != data:
            raise Invalid([('not_canonical', 'the evidence is not in canonical form')])
        is_known = isinstance(document, dict) and document.get('version') == 1 and document['version'] is not True
        if not is_known or document.get('policy') != POLICY:
            raise Invalid([('unknown_evidence', f'the evidence is not of version 1 and policy {POLICY}')])
        wrong = evidence_form.wrong_member(document, evidence_form.DOCUMENT)
        if wrong is not None:
            raise Invalid([('bad_evidence', f'the member {quote(wrong)} of the evidence is missing, malformed or unknown')])
        stated = {**response, 'checks': [without_message(one) for one in response['checks']]}
        for name, value in {**verdict(document), **request_members(response, document)}.items():
            if name not in stated or jcs.canonicalize(stated[name]) != jcs.canonicalize(value):
                raise Invalid([('verdict_mismatch', f'{name} does not follow from the evidence: it gives {quote(value)}')])
    except jcs.JcsError as error:
        raise Invalid([(error.code, str(error))]) from None
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise Invalid([('bad_evidence', f'the evidence or the decision is malformed: {type(error).__name__}')]) from None
    return document


def verdict(document):
    """The members of a decision that follow from its evidence, without the messages."""
    agent, evaluation, asked = document['agent'], document['evaluation'], document['asked']
    if agent is None:
        evaluation = None
    age = None if evaluation is None else _rounded(_age_hours(document['read_at'], evaluation))
    failures = [
        _evaluation_failure(agent, evaluation, age, asked['max_age_hours']),
        _pass_rate_failure(evaluation, asked['min_pass_rate']),
        _approval_failure(agent, evaluation, document['approval'], document['read_at']),
        'recertification_open' if agent is None or document['open_recertifications'] != 0 else None,
    ]
    conditions = ('recent_passing_evaluation', 'pass_rate', 'high_risk_approval', 'recertification')
    reason = next((failure for failure in failures if failure is not None), 'all_conditions_met')
    return {
        'allowed': reason == 'all_conditions_met',
        'reason': reason,
        'event': EVENTS[reason],
        'evaluation_id': None if evaluation is None else evaluation['id'],
        'agent_id': None if agent is None else agent['id'],
        'policy': POLICY,
        'threshold': asked['min_pass_rate'],
        'required_threshold': asked['min_pass_rate'],
        'actual_threshold': None if evaluation is None else evaluation['pass_rate'],
        'evaluation_age': age,
        'evaluation': {} if evaluation is None else _evaluation_of_decision(evaluation, agent),
        'checks': [{'condition': name, 'passed': failure is None, 'reason': failure} for name, failure in zip(conditions, failures)],
        'tenant_id': document['tenant_id'],
    }


def request_members(response, document):
    """The values that harness_id and max_age_hours of the decision must have. Empty for an older version, which has neither."""
    if not any(name in response for name in REQUEST_MEMBERS):
        return {}
    return {name: document['asked'][name] for name in REQUEST_MEMBERS}


def _evaluation_failure(agent, evaluation, age, max_age_hours):
    if evaluation is None or not 0 <= age <= max_age_hours:
        return 'no_recent_evaluation'
    return None if evaluation['status'] == 'passing' else 'evaluation_not_passing'


def _pass_rate_failure(evaluation, required):
    rate = None if evaluation is None else evaluation['pass_rate']
    return None if rate is not None and rate >= required else 'pass_rate_below_threshold'


def _approval_failure(agent, evaluation, approval, read_at):
    if agent is not None and agent['risk_level'] == 'low':
        return None
    if agent is None or evaluation is None or approval is None:
        return 'approval_required'
    if approval['status'] == 'rejected':
        return 'approval_rejected'
    if approval['status'] != 'approved' or approval['decided_at'] is None:
        return 'approval_required'
    is_in_time = _micros(approval['decided_at']) <= _micros(read_at) + _CLOCK_TOLERANCE_MICROS
    return None if is_in_time else 'approval_required'


def _evaluation_of_decision(evaluation, agent):
    members = {name: evaluation[name] for name in ('id', 'name', 'status', 'pass_rate', 'category', 'harness_id', 'recorded_by')}
    members.update(recorded_at=_in_milliseconds(evaluation['recorded_at']), agent_name=agent['name'])
    if evaluation['evaluated_at'] is not None:
        members['evaluated_at'] = _in_milliseconds(evaluation['evaluated_at'])
    return members


def _age_hours(read_at, evaluation):
    now, since = _micros(read_at), _micros(evaluation['recorded_at'])
    if evaluation['evaluated_at'] is not None and since <= now:
        since = min(since, _micros(evaluation['evaluated_at']))
    return (now - since) / 3_600_000_000


def _rounded(hours):
    """Rounded away from zero to at most 4 decimals."""
    scaled = abs(hours) * 10_000
    nearest = math.floor(scaled) + (scaled - math.floor(scaled) >= 0.5)
    away = nearest + 1 if nearest / 10_000 < abs(hours) else nearest
    return math.copysign(away / 10_000, hours) if away else 0


def _micros(instant):
    seconds, fraction = _INSTANT.fullmatch(instant).groups()
    return calendar.timegm(time.strptime(seconds, '%Y-%m-%dT%H:%M:%S')) * 1_000_000 + int(fraction)


def _in_milliseconds(instant):
    return f'{instant[:23]}Z'


def without_message(check):
    return {name: value for name, value in check.items() if name != 'message'}
