"""Entries ledger.restore_accepted of the audit ledger (docs/formats.md, "Accepted restores").

They explain why a kept head does not match. The verdict is still `broken`.
"""

import note

ACTION = 'ledger.restore_accepted'


def restore_in(entry, log):
    """The restore of a log that an audit entry records: (seq, abandoned head, restored head), or None.

    A head is (size, root). Only the operator's entries count.
    """
    if entry['action'] != ACTION or entry['recorded_by'] != 'operator' or not isinstance(entry['metadata'], dict):
        return None
    logs = entry['metadata'].get('logs')
    heads = logs.get(log) if isinstance(logs, dict) else None
    if not isinstance(heads, dict):
        return None
    abandoned, restored = _head(heads.get('abandoned')), _head(heads.get('restored'))
    return None if abandoned is None or restored is None else (entry['seq'], abandoned, restored)


def _head(value):
    if not isinstance(value, dict) or type(value.get('size')) is not int or value['size'] < 0:
        return None
    root = note.from_base64(value['root']) if isinstance(value.get('root'), str) else None
    return (value['size'], root) if root is not None and len(root) == 32 else None


def remark(head, restores):
    """Text that explains a mismatched head by the restores of its log. Empty if no restore explains the head."""
    fitting = [each for each in restores if each[2][0] < head.size <= each[1][0]]
    exact = [each for each in fitting if each[1] == (head.size, head.root)]
    if not fitting:
        return ''
    seq, abandoned, restored = (exact or fitting)[0]
    which = 'this is the abandoned head' if exact else 'this head may cover abandoned rows'
    return (
        f'; row {seq} of the audit ledger ({ACTION}) says that an operator restored an older state: the log abandoned a head '
        f'of {abandoned[0]} rows and continued after {restored[0]}; {which}. Ask the operator what the abandoned rows contained'
    )
