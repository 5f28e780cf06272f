"""JSON Canonicalization Scheme, RFC 8785 (https://www.rfc-editor.org/rfc/rfc8785).

`read` parses JSON text strictly. `canonicalize` makes the one byte sequence that is hashed or signed.
"""

import json
import re

EXACT_INTEGER_MAX = 2**53
NESTING_MAX = 200


class JcsError(ValueError):
    """Raised for a value without a canonical form, and for a text that `read` rejects."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


# --- Reading --------------------------------------------------------------------------------------------------------


def read(text, exact=True):
    """The value of a JSON text. Raises JcsError for other text, duplicate members (RFC 8785, 3.1 requires I-JSON, RFC 7493), lone
    surrogates, too deep nesting, and numbers too large for a double.

    With `exact`, it also rejects a number that differs from the value of its canonical form. Otherwise 0.1 could be shown as
    0.1000000000000000000001 with an unchanged hash, because both are the same double.
    """
    if _depth(text) > NESTING_MAX:
        raise JcsError('nested_too_deeply', f'nested deeper than {NESTING_MAX}')
    try:
        value = json.loads(
            text,
            object_pairs_hook=_members_once,
            parse_int=lambda token: _number(token, exact),
            parse_float=lambda token: _number(token, exact),
            parse_constant=_reject_constant,
        )
    except json.JSONDecodeError as error:
        raise JcsError('bad_json', f'not JSON: {error.msg}, at character {error.pos + 1}') from None
    except RecursionError:
        raise JcsError('nested_too_deeply', 'nested too deeply to be read') from None
    if _SURROGATE.search(text):
        canonicalize(value)  # It raises JcsError for a lone surrogate.
    return value


_SURROGATE = re.compile(r'\\u[dD][89a-fA-F]')
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


def _depth(text):
    """The deepest nesting of objects and arrays in a text, before it is parsed. 0 if the text has too few brackets to exceed the limit."""
    if text.count('[') + text.count('{') <= NESTING_MAX:
        return 0
    depth = deepest = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if found.group() in '[{':
            depth += 1
            deepest = max(deepest, depth)
        elif found.group() in ']}':
            depth -= 1
    return deepest


def _members_once(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        earlier_names = set()
        for name, _ in pairs:
            if name in earlier_names:
                raise JcsError('duplicate_member', f'the member {json.dumps(name[:80])} appears twice in one object')
            earlier_names.add(name)
    return members


def _reject_constant(name):
    # Python's parser accepts NaN and Infinity, which JSON does not have.
    raise JcsError('bad_json', f'not JSON: {name}')


_NUMBER = re.compile(r'(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?')


def _number(token, exact):
    if len(token) < 16 and token.isascii() and token.isdecimal():
        return int(token)  # most numbers are of this kind
    if exact:
        written = _decimal(token)
        if written is None or not _is_exact(token, written):
            excerpt = token if len(token) <= 40 else token[:37] + '...'
            raise JcsError('inexact_number', f'the number {excerpt} is not equal to its canonical form')
    value = float(token)
    if value in (float('inf'), float('-inf')):
        raise JcsError('inexact_number', 'a number is too large for a double')
    # Each value has one Python type: 1, 1.0 and 10e-1 are all read as the int 1.
    return int(value) if value.is_integer() and abs(value) <= EXACT_INTEGER_MAX else value


def _is_exact(token, written):
    sign, digits, exponent = written
    if not digits:
        return not sign  # The canonical form of -0 is 0, so the sign would be lost.
    # A canonical form has at most 17 significant digits, so a longer number is not parsed.
    if len(digits) > 17 or abs(exponent) > 400:
        return False
    return _decimal(repr(float(token))) == written


def _decimal(token):
    """(sign, digits without zeros at either end, power of ten), which are the same for every spelling of a value. None if out of range."""
    match = _NUMBER.fullmatch(token)
    if match is None:
        return None  # repr returned inf
    sign, whole, fraction, exponent_sign, exponent_digits = match.groups(default='')
    digits = (whole + fraction).lstrip('0')
    if not digits:
        return sign, '', 0
    exponent_digits = exponent_digits.lstrip('0')
    if len(exponent_digits) > 9:
        return None
    exponent = int(exponent_sign + (exponent_digits or '0')) - len(fraction)
    significant = digits.rstrip('0')
    return sign, significant, exponent + len(digits) - len(significant)


# --- Writing --------------------------------------------------------------------------------------------------------


def canonicalize(value):
    """The canonical bytes of a value made of None, bool, int, float, str, list and dict. Raises JcsError if it has no canonical form."""
    parts = []
    try:
        _write(value, parts.append)
        return ''.join(parts).encode('utf-8')
    except UnicodeEncodeError:
        # RFC 8785, 3.2.2.2: a lone surrogate has no UTF-8 form and must cause an error.
        raise JcsError('lone_surrogate', 'a string contains a lone surrogate') from None
    except RecursionError:
        raise JcsError('nested_too_deeply', 'nested too deeply to be canonicalized') from None


def _write(value, put):
    if value is None:
        put('null')
    elif value is True:
        put('true')
    elif value is False:
        put('false')
    elif isinstance(value, str):
        put(_string(value))
    elif isinstance(value, int):
        if abs(value) > EXACT_INTEGER_MAX:
            raise JcsError('inexact_number', 'an integer is beyond 2^53, where doubles skip integers')
        put(str(value))
    elif isinstance(value, float):
        put(number_to_string(value))
    elif isinstance(value, list):
        separator = '['
        for item in value:
            put(separator)
            _write(item, put)
            separator = ','
        put(']' if value else '[]')
    elif isinstance(value, dict):
        separator = '{'
        # By UTF-16 code units (3.2.3), not by code points: U+1F600 is D83D DE00 and comes before U+FB33.
        for name in sorted(value, key=_utf16):
            put(separator)
            put(_string(name))
            put(':')
            _write(value[name], put)
            separator = ','
        put('}' if value else '{}')
    else:
        raise JcsError('not_json', f'{type(value).__name__} has no JSON form')


def _utf16(name):
    if not isinstance(name, str):
        raise JcsError('not_json', 'a member name is not a string')
    return name.encode('utf-16-be')


# Only what JSON.stringify escapes (3.2.2.2). U+007F, U+2028 and the solidus are not escaped.
_ESCAPES = {code: f'\\u{code:04x}' for code in range(0x20)}
_ESCAPES.update({8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 0x22: '\\"', 0x5C: '\\\\'})


def _string(text):
    return f'"{text.translate(_ESCAPES)}"'


def number_to_string(value):
    """ECMAScript's Number::toString (3.2.2.3; https://tc39.es/ecma262/#sec-numeric-types-number-tostring).

    Python's repr gives the same shortest digits. Only the positions of point and exponent differ.
    """
    if value != value or value in (float('inf'), float('-inf')):
        raise JcsError('not_json', 'NaN and Infinity have no JSON form')
    if value == 0:
        return '0'
    sign, digits, power = _decimal(repr(value))
    point = len(digits) + power  # the value is 0.digits times ten to this power; ECMAScript calls it n
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, '0')
        return f'{sign}{digits[:point]}.{digits[point:]}'
    if -6 < point <= 0:
        return f'{sign}0.{"0" * -point}{digits}'
    mantissa = digits if len(digits) == 1 else f'{digits[0]}.{digits[1:]}'
    return f'{sign}{mantissa}e{point - 1:+d}'
