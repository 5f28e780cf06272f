"""The form of an evidence document (docs/formats.md, "Evidence")."""

import re

import forms

_INSTANT = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z')


def _is_number(value):
    return type(value) in (int, float)  # bool is an int in Python


def _is_instant(value):
    return isinstance(value, str) and _INSTANT.fullmatch(value) is not None


def _or_null(fits):
    return lambda value: value is None or fits(value)


def _object_of(members):
    return lambda value: isinstance(value, dict) and wrong_member(value, members) is None


def _list_of(fits):
    return lambda value: isinstance(value, list) and all(map(fits, value))


def wrong_member(value, members):
    """Returns the name of a member that is missing, malformed or unknown, or None. `members` maps each known name to its predicate."""
    wrong = (name for name, fits in members.items() if name not in value or not fits(value[name]))
    return next(wrong, next((name for name in value if name not in members), None))


_RECORDED = {
    'evaluated_at': _or_null(_is_instant),
    'name': forms.is_text,
    'pass_rate': _or_null(_is_number),
    'recorded_at': _is_instant,
    'status': forms.is_text,
}
_EVALUATION = {
    **_RECORDED,
    'category': forms.is_text_or_null,
    'harness_id': forms.is_text_or_null,
    'id': forms.is_text,
    'recorded_by': forms.is_text,
}
_ASKED = {
    **dict.fromkeys(('agent_id', 'agent_name', 'harness_id'), forms.is_text_or_null),
    **dict.fromkeys(('max_age_hours', 'min_pass_rate'), _is_number),
}

# All members of an evidence document, version 1.
DOCUMENT = {
    'agent': _or_null(_object_of(dict.fromkeys(('id', 'name', 'risk_level'), forms.is_text))),
    'approval': _or_null(_object_of({'decided_at': _is_instant, 'status': forms.is_text})),
    'asked': _object_of(_ASKED),
    'evaluation': _or_null(_object_of(_EVALUATION)),
    'open_recertifications': _is_number,
    'other_evaluations': _list_of(_object_of({**_RECORDED, 'suite': forms.is_text_or_null})),
    'policy': forms.is_text,
    'read_at': _is_instant,
    'similar_names': _list_of(forms.is_text),
    'tenant_id': forms.is_text,
    'version': _is_number,
}
