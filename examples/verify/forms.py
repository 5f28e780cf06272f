"""The forms that members of rows, decisions and key events may have."""

import re

_HASH = re.compile('[0-9a-f]{64}')
_INSTANT = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z')


def is_text(value):
    return isinstance(value, str)


def is_text_or_null(value):
    return value is None or isinstance(value, str)


def is_object_or_null(value):
    return value is None or isinstance(value, dict)


def is_seq(value):
    return type(value) is int and value >= 1  # bool is an int in Python


def is_version(value):
    return type(value) is int


def is_hash(value):
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def is_hash_or_null(value):
    return value is None or is_hash(value)


def is_instant(value):
    return isinstance(value, str) and _INSTANT.fullmatch(value) is not None


def is_instant_or_null(value):
    return value is None or is_instant(value)


def is_texts_or_null(value):
    return value is None or (isinstance(value, list) and all(map(is_text, value)))


def is_object(value):
    return isinstance(value, dict)
