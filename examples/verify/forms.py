"""Predicates for the members of rows, decisions and events."""

import re

_HASH = re.compile('[0-9a-f]{64}')
_INSTANT = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z')


_UUID_PATTERN = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
_UUID = re.compile(_UUID_PATTERN)
_RECORDED_BY = re.compile(f'operator|system:(?:promotion-gate|retention)|key:[0-9a-f]{{12}}|user:{_UUID_PATTERN}')
_DATE = re.compile('[0-9]{4}-[0-9]{2}-[0-9]{2}')
_PREFIX = re.compile('[0-9a-f]{12}')


def is_uuid(value):
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_uuid_or_null(value):
    return value is None or is_uuid(value)


def is_recorded_by(value):
    return isinstance(value, str) and _RECORDED_BY.fullmatch(value) is not None


def is_date_or_null(value):
    return value is None or (isinstance(value, str) and _DATE.fullmatch(value) is not None)


def is_prefix(value):
    return isinstance(value, str) and _PREFIX.fullmatch(value) is not None


def is_text(value):
    return isinstance(value, str)


def is_text_or_null(value):
    return value is None or isinstance(value, str)


def is_object_or_null(value):
    return value is None or isinstance(value, dict)


def is_seq(value):
    return type(value) is int and 1 <= value < 2**53  # bool is an int in Python


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


def is_object(value):
    return isinstance(value, dict)
