"""A log as an export holds it: NDJSON, one value a line, read one line at a time (docs/formats.md, "Export")."""

import jcs
from verdict import shown

# A row is at most a request body with some members around it. The bound keeps a file that is not an export out of memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024


class Broken(Exception):
    """A line or row that is wrong. `problems` is a list of (code, message), the plainest first."""

    def __init__(self, problems, line=None, seq=None):
        super().__init__('; '.join(message for _, message in problems))
        self.problems = problems
        self.line = line
        self.seq = seq


def read_into(log, stream):
    """Appends each value of the stream to the log and returns the log; raises Broken at the first line or row that is wrong."""
    for number, line in lines(stream):
        try:
            log.append(read_line(line))
        except Broken as broken:
            broken.line = number
            raise
    return log


def lines(stream):
    """(line number, bytes) of a binary stream, each line bounded."""
    number = 0
    while True:
        line = stream.readline(LONGEST_LINE_BYTES + 1)
        if not line:
            return
        number += 1
        if len(line) > LONGEST_LINE_BYTES:
            raise Broken([('line_too_long', f'the line is longer than {LONGEST_LINE_BYTES} bytes')], line=number)
        yield number, line


def read_line(line):
    """The value of one line; raises Broken when the line does not say one thing only."""
    try:
        text = line.decode('utf-8')
    except UnicodeDecodeError as error:
        raise Broken([('bad_utf8', f'not UTF-8, at byte {error.start + 1}')]) from None
    if not text.strip():
        raise Broken([('bad_json', 'not JSON: the line is empty')])
    try:
        return jcs.read(text)
    except jcs.JcsError as error:
        raise Broken([(error.code, str(error))]) from None


def check_members(value, members, what):
    """Raises Broken unless value is an object with exactly these members, each of its form. `members`: name to (fits, wanted)."""
    if not isinstance(value, dict):
        raise Broken([('not_an_object', 'the line is not a JSON object')])
    seq = value.get('seq') if type(value.get('seq')) is int else None
    problems = [('missing_member', f'the member {name} is missing') for name in members if name not in value]
    for name in value:
        if name not in members:
            problems.append(('extra_member', f'the member {shown(name)} is not part of {what}'))
            break  # one is enough to say, and there may be a million
    for name, (fits, wanted) in members.items():
        if name in value and not fits(value[name]):
            problems.append(('wrong_form', f'{name} is not {wanted}'))
    if problems:
        raise Broken(problems, seq=seq)

