"""Unsigned tree heads in the response header Countersign-Checkpoint of promotion checks (docs/formats.md, "Tree heads in a header")."""

import re

import merkle
import note
from verdict import Invalid, quote

# RFC 8941: a list of tokens with parameters. A parameter may have any kind of bare item, because later versions may add parameters.
_BARE = r'(?:-?[0-9]{1,15}(?:\.[0-9]{1,3})?|:[A-Za-z0-9+/=]*:|\?[01]|"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[A-Za-z*][!#$%&\'*+\-.^_`|~:/0-9A-Za-z]*)'
_PARAMETER = rf';[ ]*([a-z*][a-z0-9_\-.*]*)(?:=({_BARE}))?'
_MEMBER = re.compile(rf'([A-Za-z*][!#$%&\'*+\-.^_`|~:/0-9A-Za-z]*)((?:{_PARAMETER})*)')


def read_heads(text):
    """Reads a Countersign-Checkpoint header, with or without the name of the header. Returns (size, root) by the name of the log.

    Raises Invalid if the text is not a list of tree heads, or lists a log twice.
    """
    value = re.sub(r'(?i)\A\s*countersign-checkpoint:', '', text).strip(' \t\r\n')
    heads, at = {}, 0
    while True:
        member = _MEMBER.match(value, at)
        if member is None:
            raise Invalid([('bad_head', f'not a list of tree heads: {quote(value[at:])}')])
        parameters = {found.group(1): found.group(2) for found in re.finditer(_PARAMETER, member.group(2))}
        if member.group(1) in heads:
            raise Invalid([('bad_head', f'the log {quote(member.group(1))} is listed twice')])
        heads[member.group(1)] = _read_head(member.group(1), parameters)
        comma = re.compile('[ \t]*,[ \t]*').match(value, member.end())
        if member.end() == len(value):
            return heads
        if comma is None:
            raise Invalid([('bad_head', f'not a list of tree heads: {quote(value[member.end():])}')])
        at = comma.end()


def _read_head(log, parameters):
    size, root = parameters.get('size') or '', parameters.get('root') or ''
    data = note.from_base64(root[1:-1]) if root[:1] == ':' else None
    if not note.SIZE_PATTERN.fullmatch(size) or data is None or len(data) != 32:
        raise Invalid([('bad_head', f'the head of {quote(log)} needs size=<whole number> and root=:<base64 of 32 bytes>:')])
    if size == '0' and data != merkle.EMPTY_ROOT:
        raise Invalid([('bad_head', f'the head of {quote(log)} has size 0, but not the root of the empty tree')])
    return int(size), data
