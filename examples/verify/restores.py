"""What entries ledger.restore_accepted of the audit ledger say (docs/formats.md, "Accepted restores"). They explain and excuse nothing."""

import note

ACTION = 'ledger.restore_accepted'


def named_in(entry, log):
    """What an audit entry says of a log: (seq, abandoned, restored), each head (size, root), or None. Only the operator's entries count."""
    if entry['action'] != ACTION or entry['recorded_by'] != 'operator' or not isinstance(entry['metadata'], dict):
        return None
    logs = entry['metadata'].get('logs')
    named = logs.get(log) if isinstance(logs, dict) else None
    if not isinstance(named, dict):
        return None
    abandoned, restored = _head(named.get('abandoned')), _head(named.get('restored'))
    return None if abandoned is None or restored is None else (entry['seq'], abandoned, restored)


def _head(value):
    if not isinstance(value, dict) or type(value.get('size')) is not int or value['size'] < 0:
        return None
    root = note.from_base64(value['root']) if isinstance(value.get('root'), str) else None
    return (value['size'], root) if root is not None and len(root) == 32 else None


def remark(head, restores):
    """What the restores of a log say about a head that is not met; empty where none does."""
    fitting = [each for each in restores if each[2][0] < head.size <= each[1][0]]
    exact = [each for each in fitting if each[1] == (head.size, head.root)]
    if not fitting:
        return ''
    seq, abandoned, restored = (exact or fitting)[0]
    which = 'this is the head that was given up' if exact else 'this head may be of the rows that were given up'
    return (
        f'; row {seq} of the audit ledger ({ACTION}) says that an operator restored an older state: the log gave up a head '
        f'of {abandoned[0]} rows and continued after {restored[0]}; {which}: ask the operator what these rows held'
    )
