"""Exports of logs: NDJSON, one value per line, read line by line (docs/formats.md, "Export")."""

import jcs
from verdict import quote

# The limit of docs/formats.md, "Export". It bounds memory if a file is not an export.
LINE_BYTES_MAX = 64 * 1024 * 1024


class InvalidLine(Exception):
    """An invalid line or row. `problems` is a list of (code, message), the most obvious first."""

    def __init__(self, problems, line=None, seq=None):
        super().__init__('; '.join(message for _, message in problems))
        self.problems = problems
        self.line = line
        self.seq = seq


def read_into(log, stream):
    """Appends each value of the stream to the log and returns the log. Raises InvalidLine at the first invalid line."""
    for number, line in lines(stream):
        try:
            log.append(read_line(line))
        except InvalidLine as error:
            error.line = number
            raise
    return log


def lines(stream):
    """Yields (line number, bytes) of each line of a binary stream. Raises InvalidLine if a line is longer than LINE_BYTES_MAX."""
    number = 0
    while True:
        line = stream.readline(LINE_BYTES_MAX + 1)
        if not line:
            return
        number += 1
        if len(line) > LINE_BYTES_MAX:
            raise InvalidLine([('line_too_long', f'the line is longer than {LINE_BYTES_MAX} bytes')], line=number)
        yield number, line


def read_line(line):
    """The value of one line. Raises InvalidLine if the line is empty or not UTF-8, or if jcs.read rejects it."""
    try:
        text = line.decode('utf-8')
    except UnicodeDecodeError as error:
        raise InvalidLine([('bad_utf8', f'not UTF-8, at byte {error.start + 1}')]) from None
    if not text.strip():
        raise InvalidLine([('bad_json', 'not JSON: the line is empty')])
    try:
        return jcs.read(text)
    except jcs.JcsError as error:
        raise InvalidLine([(error.code, str(error))]) from None


def check_members(value, members, what):
    """Raises InvalidLine unless value is an object with exactly these members, each in its form.

    `members` maps each name to (fits, wanted): a predicate on the member, and the form in words.
    """
    if not isinstance(value, dict):
        raise InvalidLine([('not_an_object', 'the line is not a JSON object')])
    seq = value.get('seq') if type(value.get('seq')) is int else None
    problems = [('missing_member', f'the member {name} is missing') for name in members if name not in value]
    for name in value:
        if name not in members:
            problems.append(('extra_member', f'the member {quote(name)} is not part of {what}'))
            break  # only the first is reported, because there may be a million
    for name, (fits, wanted) in members.items():
        if name in value and not fits(value[name]):
            problems.append(('wrong_form', f'{name} is not {wanted}'))
    if problems:
        raise InvalidLine(problems, seq=seq)

