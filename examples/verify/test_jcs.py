"""Tests of canonical JSON against RFC 8785."""

import sys

sys.dont_write_bytecode = True

import json
import random
import struct
import unittest

import jcs
from golden import vectors


def double(hex_digits):
    return struct.unpack('>d', bytes.fromhex(hex_digits))[0]


class Canonicalization(unittest.TestCase):
    def test_the_sample_of_rfc_8785_has_the_published_form(self):
        sample = vectors('jcs-rfc8785.json')['section_3_2_2_sample']
        canonical = jcs.canonicalize(jcs.read(sample['input'], exact=False))
        self.assertEqual(canonical.decode('utf-8'), sample['canonical'])
        self.assertEqual(canonical.hex(), sample['canonical_hex'])

    def test_members_are_sorted_as_rfc_8785_shows(self):
        sample = vectors('jcs-rfc8785.json')['section_3_2_3_sorting']
        canonical = jcs.canonicalize(jcs.read(sample['input'])).decode('utf-8')
        self.assertEqual(list(json.loads(canonical).values()), sample['values_in_order'])
        self.assertEqual(canonical, sample['canonical'])

    def test_every_number_of_appendix_b_has_the_published_form(self):
        for number in vectors('jcs-rfc8785.json')['appendix_b_numbers']:
            with self.subTest(number['ieee754_hex']):
                if number['json'] is None:
                    self.assertRaises(jcs.JcsError, jcs.canonicalize, double(number['ieee754_hex']))
                else:
                    self.assertEqual(jcs.canonicalize(double(number['ieee754_hex'])).decode(), number['json'])

    def test_a_written_number_is_read_with_the_same_value(self):
        chance = random.Random(8785)
        for _ in range(20000):
            value = double(f'{chance.getrandbits(64):016x}')
            if value - value == 0:  # neither NaN nor Infinity
                written = jcs.number_to_string(value)
                self.assertEqual(float(written), value)
                self.assertEqual(jcs.read(written), value)  # jcs.read also raises if the number is not exact

    def test_strings_escape_what_json_stringify_escapes_and_nothing_else(self):
        written = jcs.canonicalize(''.join(map(chr, range(0x20))) + '"\\/\x7f\x80\u2028\u2029\ufeff\uffff😀').decode('utf-8')
        self.assertEqual(
            written,
            '"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f'
            '\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f'
            '\\"\\\\/\x7f\x80\u2028\u2029\ufeff\uffff😀"',
        )

    def test_values_without_a_canonical_form_are_rejected(self):
        deep = []
        for _ in range(100000):
            deep = [deep]
        for value, code in (
            (float('nan'), 'not_json'),
            (float('inf'), 'not_json'),
            (-float('inf'), 'not_json'),
            (2**53 + 1, 'inexact_number'),
            (-(2**53) - 1, 'inexact_number'),
            (10**5000, 'inexact_number'),
            ('\ud800', 'lone_surrogate'),
            ({'\udc00': 1}, 'lone_surrogate'),
            (['a\ud83d'], 'lone_surrogate'),
            ({1: 2}, 'not_json'),
            ((1, 2), 'not_json'),
            (b'bytes', 'not_json'),
            (deep, 'nested_too_deeply'),
        ):
            with self.subTest(code=code, value=type(value).__name__):
                with self.assertRaises(jcs.JcsError) as rejection:
                    jcs.canonicalize(value)
                self.assertEqual(rejection.exception.code, code)
        while deep:  # freed level by level, because the interpreter may recurse when it frees the whole list
            deep = deep[0]

    def test_a_number_is_exact_when_its_canonical_form_has_the_same_value(self):
        exact_numbers = ('0', '0.0', '0e5', '1', '1.0', '10e-1', '1E2', '4.50', '0.1', '1e21')
        exact_numbers += ('1000000000000000000000', '1e-7', '0.0000001')
        exact_numbers += ('9007199254740992', '5e-324', '1.7976931348623157e308', '-1.5e+300', '123456789012345680000')
        for token in exact_numbers:
            with self.subTest(token):
                jcs.canonicalize(jcs.read(token))
        inexact_numbers = ('-0', '-0.0', '-0e1', '9007199254740993', '12345678901234567890', '0.1234567890123456789', '1e-400', '-1e-400')
        inexact_numbers += ('1e400', '333333333.33333329', '295147905179352825856', '0.1000000000000000000001', '1e99999999999999999999')
        inexact_numbers += ('1' * 5000, '0.' + '3' * 5000)
        for token in inexact_numbers:
            with self.subTest(token[:40]):
                with self.assertRaises(jcs.JcsError) as rejection:
                    jcs.read(token)
                self.assertEqual(rejection.exception.code, 'inexact_number')

    def test_text_that_is_not_json_or_repeats_a_member_is_rejected(self):
        for text in ('', ' ', '{', '[1,]', '{"a":1,}', 'NaN', '[Infinity]', '-Infinity', '01', '+1', '.5', '1.', "'a'", '"\t"', '"\\x"'):
            with self.subTest(text):
                with self.assertRaises(jcs.JcsError) as rejection:
                    jcs.read(text)
                self.assertEqual(rejection.exception.code, 'bad_json')
        for text in ('{"a":1,"a":1}', '[{"b":{"a":1,"\\u0061":2}}]', '{"":0,"":0}'):
            with self.subTest(text):
                with self.assertRaises(jcs.JcsError) as rejection:
                    jcs.read(text)
                self.assertEqual(rejection.exception.code, 'duplicate_member')


if __name__ == '__main__':
    unittest.main()
