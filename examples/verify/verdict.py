"""Results of checks, and reading of files within limits."""

import json
import os
import sys
from collections import namedtuple

VALID, BROKEN, UNUSABLE = 0, 1, 2  # the exit codes

DOCUMENT_BYTES_MAX = 1024 * 1024

# `line` is for people, `facts` for machines.
Verdict = namedtuple('Verdict', 'exit_code line facts')


class Invalid(Exception):
    """A signed or proved document that must not be trusted. `problems` is a list of (code, message), the most obvious first."""

    def __init__(self, problems):
        super().__init__('; '.join(message for _, message in problems))
        self.problems = problems


class Unusable(Exception):
    """The check cannot run: a file cannot be read, or an argument is invalid."""


def invalid(error, what='invalid'):
    return Verdict(BROKEN, f'{what}: {error}', {'problems': problems_of(error)})


def unusable(message):
    return Verdict(UNUSABLE, message, {'message': message})


def problems_of(error):
    return [{'code': code, 'message': message} for code, message in error.problems]


def quote(value, length_max=80):
    """A value from a file as short ASCII text, so that no control characters of a file reach the terminal."""
    text = json.dumps(value) if not isinstance(value, (dict, list)) else type(value).__name__
    return text if len(text) <= length_max else text[: length_max - 3] + '...'


def format_count(number, one, many=None):
    """A number with its noun, such as '2 entries'."""
    return f'1 {one}' if number == 1 else f'{number} {many or one + "s"}'


def open_input(path):
    """Opens a file for reading bytes; - is standard input. Raises Unusable if it cannot be opened."""
    if path == '-':
        if sys.stdin is None:
            raise Unusable('standard input is closed')
        return os.fdopen(os.dup(sys.stdin.fileno()), 'rb')
    try:
        return open(path, 'rb')
    except (OSError, ValueError) as error:
        raise Unusable(f'cannot read {ascii(path)}: {getattr(error, "strerror", None) or error}') from None


def read_bounded(stream, limit):
    """All bytes of the stream, or None if it is longer than the limit."""
    data = stream.read(limit + 1)
    return data if len(data) <= limit else None


def read_document(path):
    """The bytes of a file with one signed or proved document.

    Raises Unusable if the file cannot be opened, and Invalid if it is longer than DOCUMENT_BYTES_MAX.
    """
    with open_input(path) as stream:
        data = read_bounded(stream, DOCUMENT_BYTES_MAX)
    if data is None:
        raise Invalid([('too_long', f'{ascii(path)} is longer than {DOCUMENT_BYTES_MAX} bytes')])
    return data


def text_of(data):
    """Decodes UTF-8. Raises Invalid if the bytes are not UTF-8."""
    try:
        return data.decode('utf-8')
    except UnicodeDecodeError as error:
        raise Invalid([('bad_utf8', f'not UTF-8, at byte {error.start + 1}')]) from None
