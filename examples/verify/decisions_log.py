"""The decisions log: every answer of the promotion check, allowed ones too (docs/formats.md, "Decisions log")."""

import corrections
import decision
import forms
import jcs
import merkle
import ndjson
from ndjson import Broken
from verdict import Invalid

MEMBERS = {'seq': (forms.is_seq, 'a whole number from 1 up'), 'decision': (forms.is_object, 'an object')}


class DecisionsLog:
    """The log as far as it has been read: what counts is the digest that a decision's own members make."""

    def __init__(self, tree=None, steps=None):
        self._moments = corrections.Moments(steps)
        self.tree = merkle.Tree() if tree is None else tree
        self.entries = 0
        self.allowed = 0

    def append(self, line):
        """Takes the next line, or raises Broken and stays as it was."""
        ndjson.check_members(line, MEMBERS, 'a line of this export')
        seq, held = line['seq'], line['decision']
        try:
            digest = decision.checked_digest(held)
        except jcs.JcsError as error:
            raise Broken([(error.code, str(error))], seq=seq) from None
        except Invalid as error:
            raise Broken(error.problems, seq=seq) from None
        if seq != self.entries + 1:
            raise Broken([('seq_gap', f'seq is {seq}, expected {self.entries + 1}')], seq=seq)
        problem = self._moments.problem(seq, held['timestamp'], 'timestamp')
        if problem is not None:
            raise Broken([problem], seq=seq)
        self.entries += 1
        self.allowed += held['allowed']
        self.tree.append(bytes.fromhex(digest))


def verify(stream, tree=None, steps=None):
    """Reads an export to its end and returns the DecisionsLog; raises Broken at the first line that is wrong."""
    return ndjson.read_into(DecisionsLog(tree, steps), stream)
