"""Compares kept checkpoints and tree heads with a log while it is read."""

from collections import namedtuple

import log_proof
import merkle
import note
import restores

# `source` names the head in messages. `origin` and `signers` are None for an unsigned head. `signers` is [] if no key was given.
Head = namedtuple('Head', 'source size root origin signers')


class Comparison:
    """The tree of a log, with its root at each kept size. It stores no rows, only the tree and one hash per kept size."""

    def __init__(self, heads):
        self.heads = sorted(heads, key=lambda head: (head.size, head.root))
        self.tree = merkle.Tree()
        self.roots = {}
        self._sizes = sorted({head.size for head in heads}, reverse=True)
        self._keep_root()

    def append(self, data):
        self.tree.append(data)
        self._keep_root()

    def _keep_root(self):
        if self._sizes and self._sizes[-1] == self.tree.size:
            self.roots[self._sizes.pop()] = self.tree.root()

    def is_met(self, head):
        return self.roots.get(head.size) == head.root

    def facts(self, has_ended):
        """The verdict on each kept head. A head of more rows than were read is `beyond_the_end` if the log `has_ended`, otherwise
        `not_reached`.
        """
        facts = []
        unread = 'beyond_the_end' if has_ended else 'not_reached'
        for head in self.heads:
            verdict = 'met' if self.is_met(head) else 'not_met' if head.size in self.roots else unread
            fact = {'from': head.source, 'size': head.size, 'root': note.to_base64(head.root), 'verdict': verdict}
            if head.origin is not None:
                fact.update(origin=head.origin, signed_by=[note.facts_of_key(key) for key in head.signers])
            facts.append(fact)
        return facts

    def problems(self, log, tenant_id, accepted_restores=()):
        """How the kept heads contradict a log that was read to its end: a list of (code, message)."""
        origin = self._origin(log, tenant_id)
        heads_of_log = [head for head in self.heads if head.origin in (None, origin)]
        foreign = [head for head in self.heads if head not in heads_of_log]
        problems = [('other_origin', _foreign_message(head, log, origin)) for head in foreign]
        problems += [('fork', message) for message in _fork_messages(heads_of_log)]
        matched_rows = 0
        for head in heads_of_log:
            if head.size > self.tree.size:
                problems.append(('cut_off', _cut_off_message(head, log, self.tree.size) + restores.remark(head, accepted_restores)))
            elif self.is_met(head):
                matched_rows = head.size
            else:
                message = _not_met_message(head, log, self.roots[head.size], matched_rows) + restores.remark(head, accepted_restores)
                problems.append(('checkpoint_not_met', message))
        return problems

    def _origin(self, log, tenant_id):
        if tenant_id is not None:
            return log_proof.origin_of(tenant_id, log)
        # An empty export and older decisions name no tenant. The smallest kept checkpoint of this kind of log then gives the origin.
        return next((head.origin for head in self.heads if head.origin and log_proof.log_of(head.origin)[1] == log), None)


# The words of messages for each log: an entry of the log, the sequence of entries, and the whole log.
_WORDS = {
    'audit': ('row', 'chain', 'ledger'),
    'decisions': ('decision', 'log', 'log'),
    'evidence': ('event', 'log', 'log'),
    'keys': ('event', 'trail', 'log'),
    'traces': ('event', 'log', 'log'),
}


def _rows(log, number):
    return f'{number} {_WORDS[log][0]}{"" if number == 1 else "s"}'


def _kind(head):
    return 'head' if head.origin is None else 'checkpoint'


def _foreign_message(head, log, origin):
    wanted = ascii(origin)[1:-1] if origin else f'a log of the kind {log}'
    return f'{head.source} is of {ascii(head.origin)[1:-1][:120]}, not of {wanted}: it says nothing about this export'


def _fork_messages(heads):
    for one, other in zip(heads, heads[1:]):
        if one.size == other.size and one.root != other.root:
            signed = one.signers and other.signers
            rest = '; the instance signed both, keep them as evidence' if signed else ', or these heads belong to different logs'
            yield f'{one.source} and {other.source} have the same size ({one.size}) and different roots: the log was forked{rest}'


def _not_met_message(head, log, root, matched_rows):
    row, chain, ledger = _WORDS[log]
    whole = f'; the first {_rows(log, matched_rows)} match another kept head' if matched_rows else ''
    return (
        f'{head.source} (size {head.size}) does not match: the root of the first {_rows(log, head.size)} is {note.to_base64(root)}, '
        f'not {note.to_base64(head.root)}: the {chain} was rewritten, or this {_kind(head)} is of another {ledger}{whole}'
    )


def _cut_off_message(head, log, size):
    return (
        f'{head.source} covers {_rows(log, head.size)}, but the export ends after {size}: '
        f'the tail was cut off, or the export is older than the {_kind(head)}'
    )
