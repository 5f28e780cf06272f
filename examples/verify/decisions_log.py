"""The decision log: every response of the promotion check, allowed and blocked (docs/formats.md, "Decisions export")."""

import corrections
import decision
import forms
import jcs
import merkle
import ndjson
from ndjson import InvalidLine
from verdict import Invalid, quote

MEMBERS = {'seq': (forms.is_seq, 'a whole number of at least 1'), 'decision': (forms.is_object, 'an object')}


class DecisionsLog:
    """The decision log, up to the last line read. The leaf data are the computed digests of the decisions."""

    def __init__(self, tree=None, steps=None, tenant_id=None, replay=None):
        self._replay = replay
        self._is_tenant_required = tenant_id is not None
        self._ids = set()
        self.tenant_id = tenant_id
        self._times = corrections.LogTimes(steps)
        self.tree = merkle.Tree() if tree is None else tree
        self.entries = 0
        self.allowed = 0

    def append(self, line):
        """Appends the next line. If it raises InvalidLine, `entries` and `tree` are unchanged."""
        ndjson.check_members(line, MEMBERS, 'a line of this export')
        seq, response = line['seq'], line['decision']
        try:
            digest = decision.checked_digest(response)
        except jcs.JcsError as error:
            raise InvalidLine([(error.code, str(error))], seq=seq) from None
        except Invalid as error:
            raise InvalidLine(error.problems, seq=seq) from None
        if seq != self.entries + 1:
            raise InvalidLine([('seq_gap', f'seq is {seq}, expected {self.entries + 1}')], seq=seq)
        problem = self._conflict(response) or self._times.problem(seq, response['timestamp'], 'timestamp')
        if problem is None and self._replay is not None:
            problem = self._replay.problem(response)
        if problem is not None:
            raise InvalidLine([problem], seq=seq)
        self._ids.add(response['decision_id'])
        self.tenant_id = self.tenant_id or response.get('tenant_id')
        self.entries += 1
        self.allowed += response['allowed']
        self.tree.append(bytes.fromhex(digest))

    def _conflict(self, response):
        """How the decision contradicts the expected tenant or the earlier decisions, as (code, message), or None."""
        if 'tenant_id' not in response and self._is_tenant_required:
            return 'missing_member', 'the decision names no tenant, but one is required'
        if 'tenant_id' in response and self.tenant_id not in (None, response['tenant_id']):
            return 'other_tenant', f'the decision belongs to tenant {quote(response["tenant_id"])}, not to {quote(self.tenant_id)}'
        if response['decision_id'] in self._ids:
            return 'logged_twice', f'decision_id {quote(response["decision_id"])} is already in an earlier line'
        return None


def verify(stream, tenant_id=None, tree=None, steps=None, replay=None):
    """Reads an export to its end and returns the DecisionsLog. Raises InvalidLine at the first invalid line."""
    return ndjson.read_into(DecisionsLog(tree, steps, tenant_id, replay), stream)
