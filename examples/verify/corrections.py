"""Entries clock.corrected of the audit ledger: where the times of a log may go back (docs/formats.md, "Corrected times")."""

import forms

ACTION = 'clock.corrected'


def step_in(entry, log):
    """The step back in time that an audit entry allows for a log: {size, before, after}, or None. Only the operator's entries count."""
    if entry['action'] != ACTION or entry['recorded_by'] != 'operator' or not isinstance(entry['metadata'], dict):
        return None
    logs = entry['metadata'].get('logs')
    step = logs.get(log) if isinstance(logs, dict) else None
    if not isinstance(step, dict) or not forms.is_seq(step.get('size')):
        return None
    return step if forms.is_instant(step.get('before')) and forms.is_instant(step.get('after')) else None


def allows(step, seq, before, at):
    """Whether a step allows row `seq` to have the time `at`, although the row before it has the later time `before`."""
    return step is not None and step['size'] == seq - 1 and step['before'] == before and step['after'] <= at


class LogTimes:
    """Checks the times of a log other than the audit ledger. They may go back only where a step allows it.

    Without the audit ledger the steps are unknown, so times are not checked.
    """

    def __init__(self, steps=None):
        self.steps = steps  # None: no audit ledger was supplied
        self._last = None

    def problem(self, seq, at, name):
        """Checks the time of the next row. Returns (code, message) if it is malformed or goes back without a step, else None."""
        if self.steps is None:
            return None
        before = self._last
        if not forms.is_instant(at):
            return 'wrong_form', f'{name} is not a UTC time with milliseconds'
        if before is not None and at < before and not any(allows(step, seq, before, at) for step in self.steps):
            return f'{name}_backwards', f'{name} goes backwards, from {before} to {at}'
        self._last = at
        return None
