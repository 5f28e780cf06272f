"""The state after the events of an evidence log: the evidence for a promotion check."""

OTHER_EVALUATIONS_MAX = 6


class State:
    """The agents of a tenant with their current evidence. `apply` expects events that were checked against the earlier ones."""

    def __init__(self):
        self.agents = {}
        self.by_name = {}

    def apply(self, event):
        if event['action'] == 'agent.registered':
            agent = {'id': event['agent_id'], 'name': event['agent_name'], 'risk_level': 'low'}
            self.agents[agent['id']] = self.by_name[agent['name']] = Agent(agent)
        else:
            getattr(self.agents[event['agent_id']], event['action'].replace('.', '_'))(event)

    def evidence(self, agent_id=None, agent_name=None, harness_id=None):
        """The members of an evidence document that follow from the log."""
        agent = self.by_name.get(agent_name) if agent_id is None else self.agents.get(agent_id)
        if agent is None:
            return {'agent': None, 'approval': None, 'evaluation': None, 'open_recertifications': 0, 'other_evaluations': []}
        return agent.evidence(harness_id)


class Agent:
    """An agent with its current evidence. Each method that applies an event is named after its action, with _ instead of the dot."""

    def __init__(self, agent):
        self.agent = agent
        self.latest = None
        self.by_harness = {}
        self.by_series = {}
        self.open_incidents = []

    def agent_risk_set(self, event):
        self.agent['risk_level'] = event['risk_level']

    def evaluation_recorded(self, event):
        self.latest = evaluation = {'event': event, 'approval': None}
        if event['harness_id'] is not None:
            self.by_harness[event['harness_id']] = evaluation
        suite = event['name'] if event['suite'] is None else event['suite']
        self.by_series.pop((suite, event['harness_id']), None)  # so that the series with the latest evaluation comes last
        self.by_series[suite, event['harness_id']] = evaluation

    def approval_decided(self, event):
        self._set_approval(event, {'decided_at': with_microseconds(event['recorded_at']), 'status': event['status']})

    def approval_withdrawn(self, event):
        self._set_approval(event, None)

    def _set_approval(self, event, approval):
        for evaluation in (self.latest, *self.by_harness.values()):
            if evaluation is not None and evaluation['event']['evaluation_id'] == event['evaluation_id']:
                evaluation['approval'] = approval

    def incident_opened(self, event):
        if event['recertification_required']:
            self.open_incidents.append(event['incident_id'])

    def recertifications_closed(self, event):
        self.open_incidents = [incident for incident in self.open_incidents if incident not in event['incident_ids']]

    def evidence(self, harness_id):
        latest = self.latest if harness_id is None else self.by_harness.get(harness_id)
        others = []
        if latest is not None and latest['event']['status'] == 'passing':
            others = [_other_evaluation(each['event']) for each in reversed(self.by_series.values()) if each is not latest]
        return {
            'agent': dict(self.agent),
            'approval': None if latest is None else latest['approval'],
            'evaluation': None if latest is None else _evaluation(latest['event']),
            'open_recertifications': len(self.open_incidents),
            'other_evaluations': others[:OTHER_EVALUATIONS_MAX],
        }


def with_microseconds(instant):
    """Converts a time with milliseconds to the form of evidence documents, with six fraction digits."""
    return instant.replace('Z', '000Z')


def _evaluation(event):
    copied_members = ('category', 'evaluated_at', 'harness_id', 'name', 'pass_rate', 'recorded_by', 'status')
    return {**{name: event[name] for name in copied_members}, 'id': event['evaluation_id'], 'recorded_at': with_microseconds(event['recorded_at'])}


def _other_evaluation(event):
    copied_members = ('evaluated_at', 'name', 'pass_rate', 'status', 'suite')
    return {**{name: event[name] for name in copied_members}, 'recorded_at': with_microseconds(event['recorded_at'])}
