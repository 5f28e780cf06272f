"""Recomputes decisions from an export of the evidence log (docs/formats.md, "Deciding again from exports").

The exact time at which the evidence was read is not in a decision, so ages may differ a little. Decisions of older versions also lack the
age limit and the requested harness. Such a decision is accepted if some possible values lead to it.
"""

import evidence
import evidence_events
import jcs
import ndjson
import suggested_names
from ndjson import InvalidLine
from verdict import quote

# The evidence is read at most a minute before or after the time of the decision. Ages are rounded to 0.0001 hours.
AGE_DIFFERENCE_MAX_HOURS = 0.0168

# An age limit above all ages, and one below all ages.
LIMIT_ABOVE_ALL_AGES, LIMIT_BELOW_ALL_AGES = float('inf'), float('-inf')


class Replay:
    """The evidence log, up to the event on which the last decision was based."""

    def __init__(self, stream):
        self._lines = ndjson.lines(stream)
        self._log = evidence_events.EvidenceLog()

    def problem(self, decision):
        """Why the next decision does not follow from its evidence events, as (code, message), or None."""
        size = decision.get('evidence_size')
        if 'tenant_id' not in decision or type(size) is not int or size < 0:
            return 'no_evidence_named', 'the decision has no tenant_id or no valid evidence_size, so it cannot be recomputed'
        if size < self._log.entries:
            return 'evidence_size_backwards', f'evidence_size is {size}, smaller than in an earlier decision'
        if self._log.tenant_id is None:
            self._log.tenant_id = decision['tenant_id']
        while self._log.entries < size:
            _, line = next(self._lines, (0, None))
            if line is None:
                return 'evidence_missing', f'evidence_size is {size}, but the evidence log has {self._log.entries} events'
            try:
                self._log.append(ndjson.read_line(line))
            except InvalidLine as error:
                return 'evidence_broken', f'event {self._log.entries + 1} of the evidence log: {error}'
        return self._compare(decision)

    def _compare(self, decision):
        try:
            document = self._document(decision)
            if document is None:
                return 'evaluation_superseded', 'evaluation_id is not the latest evaluation of its agent or harness in the evidence log'
            differences = [_difference(decision, document, limit) for limit in _limits(decision)]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError, jcs.JcsError) as error:
            return 'bad_decision', f'the decision is malformed: {type(error).__name__}'
        return self._invented_name(decision) if None in differences else differences[0]

    def _invented_name(self, decision):
        """A name that the message suggests, and that is not the name of a registered agent, as (code, message), or None."""
        known = self._log.state.by_name
        for name in suggested_names.names_in(decision.get('message')):
            if name not in known and not any(suggested_names.can_show(name, one) for one in known):
                return 'verdict_mismatch', f'the message suggests {quote(name)}, but the evidence log has no agent with this name'
        return None

    def _document(self, decision):
        """The evidence for a decision according to the log; None if its evaluation is not the latest of its agent or harness."""
        agent, evaluation = decision['agent_id'], decision['evaluation_id']
        state = self._log.state
        if agent is not None and agent not in state.agents:
            raise ValueError('the agent is not registered')
        members = {'agent': None, 'approval': None, 'evaluation': None, 'open_recertifications': 0}
        if _states_request(decision):
            members = state.evidence(agent_id=agent, harness_id=_harness_of(decision))
            found_id = None if members['evaluation'] is None else members['evaluation']['id']
            if found_id != evaluation:
                return None
        elif agent is not None:
            harnesses = (None, decision['evaluation'].get('harness_id'))
            candidates = [state.evidence(agent_id=agent, harness_id=harness) for harness in harnesses]
            fitting = [each for each in candidates if each['evaluation'] is not None and each['evaluation']['id'] == evaluation]
            if evaluation is not None and not fitting:
                return None
            # The request may have named a harness without an evaluation.
            members = fitting[0] if fitting else {**candidates[0], 'approval': None, 'evaluation': None}
        elif evaluation is not None:
            return None
        return {**members, 'tenant_id': decision['tenant_id'], 'read_at': decision['timestamp'].replace('Z', '000Z')}


def _states_request(decision):
    """Whether the decision states the requested harness and age limit. Decisions of older versions state neither."""
    return any(name in decision for name in evidence.REQUEST_MEMBERS)


def _harness_of(decision):
    harness = decision['harness_id']
    if harness is not None and type(harness) is not str:
        raise ValueError('harness_id is not a string')
    return harness


def _limits(decision):
    """The age limits to compute the verdict with. A stated limit is compared with the signed age, which is exact."""
    if not _states_request(decision):
        return LIMIT_ABOVE_ALL_AGES, LIMIT_BELOW_ALL_AGES
    age, limit = decision['evaluation_age'], decision['max_age_hours']
    if type(limit) not in (int, float):
        raise ValueError('max_age_hours is not a number')
    return (LIMIT_ABOVE_ALL_AGES,) if age is not None and 0 <= age <= limit else (LIMIT_BELOW_ALL_AGES,)


def _difference(decision, document, limit):
    asked = {'min_pass_rate': decision['required_threshold'], 'max_age_hours': limit}
    if type(asked['min_pass_rate']) not in (int, float):
        raise ValueError('required_threshold is not a number')
    for name, value in evidence.verdict({**document, 'asked': asked}).items():
        if name not in decision:
            return 'verdict_mismatch', f'{name} is missing'
        stated = decision[name]
        if name == 'checks':
            stated = [evidence.without_message(one) for one in stated]
        if name == 'evaluation_age' and _is_same_age(stated, value):
            continue
        if jcs.canonicalize(stated) != jcs.canonicalize(value):
            return 'verdict_mismatch', f'{name} does not follow from the evidence log: it gives {quote(value)}'
    return None


def _is_same_age(stated, computed):
    if type(stated) not in (int, float) or computed is None:
        return stated is None and computed is None
    return abs(stated - computed) <= AGE_DIFFERENCE_MAX_HOURS
