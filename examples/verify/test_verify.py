#!/usr/bin/env python3
"""Tests of the independent verifier: `python3 examples/verify/test_verify.py`."""

import sys

sys.dont_write_bytecode = True

import base64
import hashlib
import hmac
import io
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import decision
import jcs
import ledger
import make_vectors

FORMATS_PAGE = HERE.parents[1] / 'docs' / 'formats.md'


def vectors(name):
    return json.loads((make_vectors.VECTORS / name).read_text('utf-8'))


def double(bits):
    return struct.unpack('>d', bytes.fromhex(bits))[0]


class Canonicalization(unittest.TestCase):
    def test_the_sample_of_rfc_8785_comes_out_as_published(self):
        sample = vectors('jcs-rfc8785.json')['section_3_2_2_sample']
        canonical = jcs.canonicalize(jcs.read(sample['input'], exact=False))
        self.assertEqual(canonical.decode('utf-8'), sample['canonical'])
        self.assertEqual(canonical.hex(), sample['canonical_hex'])

    def test_members_are_sorted_as_rfc_8785_shows(self):
        sample = vectors('jcs-rfc8785.json')['section_3_2_3_sorting']
        canonical = jcs.canonicalize(jcs.read(sample['input'])).decode('utf-8')
        self.assertEqual(list(json.loads(canonical).values()), sample['values_in_order'])
        self.assertEqual(canonical, sample['canonical'])

    def test_every_number_of_appendix_b(self):
        for number in vectors('jcs-rfc8785.json')['appendix_b_numbers']:
            with self.subTest(number['ieee754_hex']):
                if number['json'] is None:
                    self.assertRaises(jcs.JcsError, jcs.canonicalize, double(number['ieee754_hex']))
                else:
                    self.assertEqual(jcs.canonicalize(double(number['ieee754_hex'])).decode(), number['json'])

    def test_a_number_that_is_written_is_read_as_itself(self):
        chance = random.Random(8785)
        for _ in range(20000):
            value = double(f'{chance.getrandbits(64):016x}')
            if value - value == 0:  # neither NaN nor Infinity
                written = jcs.number_to_string(value)
                self.assertEqual(float(written), value)
                self.assertEqual(jcs.read(written), value)  # and is exact by our own rule

    def test_strings_escape_what_json_stringify_escapes_and_nothing_else(self):
        written = jcs.canonicalize(''.join(map(chr, range(0x20))) + '"\\/\x7f\x80\u2028\u2029\ufeff\uffff😀').decode('utf-8')
        self.assertEqual(
            written,
            '"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f'
            '\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f'
            '\\"\\\\/\x7f\x80\u2028\u2029\ufeff\uffff😀"',
        )

    def test_what_has_no_canonical_form_is_refused(self):
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
                with self.assertRaises(jcs.JcsError) as refusal:
                    jcs.canonicalize(value)
                self.assertEqual(refusal.exception.code, code)
        while deep:  # taken apart here, so that no interpreter has to do it recursively
            deep = deep[0]

    def test_a_number_is_exact_when_its_canonical_form_has_the_same_value(self):
        same = ('0', '0.0', '0e5', '1', '1.0', '10e-1', '1E2', '4.50', '0.1', '1e21', '1000000000000000000000', '1e-7', '0.0000001')
        same += ('9007199254740992', '5e-324', '1.7976931348623157e308', '-1.5e+300', '123456789012345680000')
        for token in same:
            with self.subTest(token):
                jcs.canonicalize(jcs.read(token))
        other = ('-0', '-0.0', '-0e1', '9007199254740993', '12345678901234567890', '0.1234567890123456789', '1e-400', '-1e-400')
        other += ('1e400', '333333333.33333329', '295147905179352825856', '0.1000000000000000000001', '1e99999999999999999999')
        other += ('1' * 5000, '0.' + '3' * 5000)
        for token in other:
            with self.subTest(token[:40]):
                with self.assertRaises(jcs.JcsError) as refusal:
                    jcs.read(token)
                self.assertEqual(refusal.exception.code, 'inexact_number')

    def test_what_is_not_json_is_refused(self):
        for text in ('', ' ', '{', '[1,]', '{"a":1,}', 'NaN', '[Infinity]', '-Infinity', '01', '+1', '.5', '1.', "'a'", '"\t"', '"\\x"'):
            with self.subTest(text):
                with self.assertRaises(jcs.JcsError) as refusal:
                    jcs.read(text)
                self.assertEqual(refusal.exception.code, 'bad_json')
        for text in ('{"a":1,"a":1}', '[{"b":{"a":1,"\\u0061":2}}]', '{"":0,"":0}'):
            with self.subTest(text):
                with self.assertRaises(jcs.JcsError) as refusal:
                    jcs.read(text)
                self.assertEqual(refusal.exception.code, 'duplicate_member')


class Keys(unittest.TestCase):
    def test_hkdf_gives_what_rfc_5869_publishes(self):
        for case in vectors('hkdf-rfc5869.json')['cases']:
            with self.subTest(case['name']):
                ikm, salt, info = (bytes.fromhex(case[part]) for part in ('ikm', 'salt', 'info'))
                self.assertEqual(decision.hkdf_sha256(ikm, salt, info, case['length']).hex(), case['okm'])

    def test_hmac_gives_what_rfc_4231_publishes(self):
        for case in vectors('hmac-rfc4231.json')['cases']:
            with self.subTest(case['name']):
                key, data = bytes.fromhex(case['key']), bytes.fromhex(case['data'])
                self.assertEqual(hmac.new(key, data, hashlib.sha256).hexdigest(), case['hmac_sha256'])

    def test_each_tenant_and_each_key_id_has_a_key_of_its_own(self):
        secret = bytes(32)
        keys = {decision.decision_key(secret, tenant, key_id) for tenant in ('t1', 't2') for key_id in ('a', 'b')}
        self.assertEqual(len(keys), 4)


class GoldenVectors(unittest.TestCase):
    def test_the_committed_files_are_what_the_generator_writes(self):
        for name, data in make_vectors.files().items():
            self.assertEqual((make_vectors.VECTORS / name).read_bytes(), data, f'{name}: run make_vectors.py')

    def test_every_file_names_its_origin(self):
        for path in sorted(make_vectors.VECTORS.glob('*.json')):
            self.assertIn('origin', json.loads(path.read_text('utf-8')), path.name)


# --- The ledger -------------------------------------------------------------------------------------------------------


def golden_lines():
    return [entry['line'].encode('utf-8') for entry in vectors('audit-chain.json')['entries']]


def golden_rows():
    return [jcs.read(line.decode('utf-8')) for line in golden_lines()]


def export(rows):
    return b''.join(json.dumps(row, ensure_ascii=False).encode('utf-8') + b'\n' for row in rows)


def rehashed(rows):
    """The rows with hashes and links made anew, as an attacker who knows the format would."""
    prev_hash = None
    for row in rows:
        row['prev_hash'] = prev_hash
        prev_hash = row['row_hash'] = ledger.row_hash({name: value for name, value in row.items() if name != 'row_hash'})
    return rows


class WholeLedgers(unittest.TestCase):
    def whole(self, data, tenant_id=None):
        return ledger.verify(io.BytesIO(data), tenant_id)

    def test_the_golden_chain_is_whole(self):
        golden = vectors('audit-chain.json')
        chain = self.whole(b'\n'.join(golden_lines()) + b'\n', golden['tenant_id'])
        self.assertEqual((chain.entries, chain.tenant_id), (6, golden['tenant_id']))
        self.assertEqual(chain.head, golden['entries'][-1]['row_hash'])

    def test_spelling_does_not_matter(self):
        again = []
        for row in golden_rows():
            again.append(json.dumps(dict(reversed(list(row.items()))), indent=None, separators=(' ,  ', ' : ')).encode('ascii'))
        self.assertEqual(self.whole(b'\r\n'.join(again)).entries, 6)
        canonical = b''.join(jcs.canonicalize(jcs.read(line.decode('utf-8'))) + b'\n' for line in golden_lines())
        self.assertEqual(self.whole(canonical).entries, 6)

    def test_an_empty_export_is_whole(self):
        chain = self.whole(b'')
        self.assertEqual((chain.entries, chain.head), (0, None))

    def test_what_a_chain_alone_cannot_show_a_tail_cut_off(self):
        # Said in README.md and docs/formats.md; checkpoints are for this. Here so that nobody believes otherwise.
        self.assertEqual(self.whole(b'\n'.join(golden_lines()[:4])).entries, 4)


class AttacksOnALedger(unittest.TestCase):
    def broken(self, data, line, *codes, tenant_id=None):
        with self.assertRaises(ledger.Broken) as found:
            ledger.verify(io.BytesIO(data), tenant_id)
        self.assertEqual(found.exception.line, line, str(found.exception))
        self.assertEqual(tuple(code for code, _ in found.exception.problems), codes, str(found.exception))
        return found.exception

    def test_every_field_changed(self):
        changes = {
            'version': (2, ('unknown_version',)),
            'tenant_id': ('3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f25', ('row_hash_mismatch', 'tenant_changes')),
            'seq': (3, ('row_hash_mismatch', 'seq_gap')),
            'id': ('a1f0c3d2-0002-4b6e-8d7a-2f4c6e8a0b1e', ('row_hash_mismatch',)),
            'recorded_at': ('2026-11-20T09:30:00.124Z', ('row_hash_mismatch',)),
            'recorded_by': ('operator', ('row_hash_mismatch',)),
            'actor': ('ci:deploy-test', ('row_hash_mismatch',)),
            'action': ('agent.demoted', ('row_hash_mismatch',)),
            'subject': ('somebody else', ('row_hash_mismatch',)),
            'rationale': (None, ('row_hash_mismatch',)),
            'framework': ('', ('row_hash_mismatch',)),
            'trace_id': ('run-2026-11-20/0043', ('row_hash_mismatch',)),
            'agent_id': (None, ('row_hash_mismatch',)),
            'retention_until': ('2027-12-31', ('row_hash_mismatch',)),
            'metadata': ({'build': 4711, 'green': False}, ('row_hash_mismatch',)),
            'prev_hash': ('0' * 64, ('row_hash_mismatch', 'prev_hash_mismatch')),
            'row_hash': ('0' * 64, ('row_hash_mismatch',)),
        }
        self.assertEqual(set(changes), set(ledger.MEMBERS))
        for name, (value, codes) in changes.items():
            with self.subTest(name):
                rows = golden_rows()
                self.assertNotEqual(rows[1][name], value)
                rows[1][name] = value
                self.assertEqual(self.broken(export(rows), 2, *codes).seq, rows[1]['seq'])

    def test_every_field_changed_and_its_own_hash_made_anew_breaks_the_next_link(self):
        linked = ('version', 'tenant_id', 'seq', 'recorded_at', 'metadata', 'prev_hash', 'row_hash')
        for name in set(ledger.MEMBERS) - set(linked):
            with self.subTest(name):
                rows = golden_rows()
                rows[1][name] = 'changed'
                rows[1]['row_hash'] = ledger.row_hash({key: value for key, value in rows[1].items() if key != 'row_hash'})
                self.broken(export(rows), 3, 'prev_hash_mismatch')

    def test_every_field_missing(self):
        for name in ledger.MEMBERS:
            with self.subTest(name):
                rows = golden_rows()
                del rows[2][name]
                self.broken(export(rows), 3, 'missing_member')

    def test_every_field_of_another_form_even_under_a_good_hash(self):
        own = {'seq': [0, -1, '3'], 'recorded_at': ['yesterday', '2026-11-20T09:30:01Z', '2026-11-20T09:30:01.000+00:00'], 'metadata': ['x']}
        own.update({'prev_hash': ['x', 'A' * 64], 'row_hash': ['x', 'A' * 64, None], 'actor': [None], 'tenant_id': [None]})
        for name in ledger.MEMBERS:
            for value in [7.5, True, [], *own.get(name, [])]:
                with self.subTest(name, value=value):
                    rows = golden_rows()
                    rows[2][name] = value
                    if name != 'row_hash':
                        rows[2]['row_hash'] = ledger.row_hash({key: held for key, held in rows[2].items() if key != 'row_hash'})
                    self.broken(export(rows), 3, 'unknown_version' if name == 'version' else 'wrong_form')

    def test_a_row_removed(self):
        for index in range(5):
            lines = golden_lines()
            del lines[index]
            self.broken(b'\n'.join(lines), index + 1, 'seq_gap', 'prev_hash_mismatch')

    def test_the_head_cut_off(self):
        self.broken(b'\n'.join(golden_lines()[3:]), 1, 'seq_gap', 'prev_hash_mismatch')

    def test_a_row_inserted(self):
        lines = golden_lines()
        lines.insert(3, lines[2])
        self.broken(b'\n'.join(lines), 4, 'seq_gap', 'prev_hash_mismatch')
        rows = golden_rows()
        forged = {**rows[2], 'seq': 4, 'prev_hash': rows[2]['row_hash'], 'action': 'approval.granted'}
        forged['row_hash'] = ledger.row_hash({name: value for name, value in forged.items() if name != 'row_hash'})
        rows.insert(3, forged)
        self.broken(export(rows), 5, 'seq_gap', 'prev_hash_mismatch')

    def test_rows_swapped(self):
        lines = golden_lines()
        lines[2], lines[3] = lines[3], lines[2]
        self.broken(b'\n'.join(lines), 3, 'seq_gap', 'prev_hash_mismatch')

    def test_the_row_of_another_tenant(self):
        rows = golden_rows()
        rows[3]['tenant_id'] = '00000000-0000-4000-8000-000000000000'
        self.broken(export(rehashed(rows)), 4, 'tenant_changes')

    def test_the_whole_ledger_of_another_tenant(self):
        self.broken(b'\n'.join(golden_lines()), 1, 'other_tenant', tenant_id='00000000-0000-4000-8000-000000000000')

    def test_numbers_renewed_over_a_gap(self):
        rows = golden_rows()
        del rows[2]
        for seq, row in enumerate(rows, 1):
            row['seq'] = seq
        self.broken(export(rows), 3, 'row_hash_mismatch', 'prev_hash_mismatch')

    def test_an_extra_member_even_under_a_good_hash(self):
        rows = golden_rows()
        rows[4]['approved'] = True
        self.broken(export(rows), 5, 'extra_member')
        self.broken(export(rehashed(rows)), 5, 'extra_member')

    def test_a_member_given_twice(self):
        for doctored in (
            lambda line: line[:-1] + b',"actor":"somebody else"}',
            lambda line: b'{"actor":"somebody else",' + line[1:],
            lambda line: b'{"\\u0061ctor":"somebody else",' + line[1:],
            lambda line: line.replace(b'"metadata":{', b'"metadata":{"green":true,'),
        ):
            lines = golden_lines()
            lines[1] = doctored(lines[1])
            self.broken(b'\n'.join(lines), 2, 'duplicate_member')

    def test_time_that_runs_backwards(self):
        rows = golden_rows()
        rows[3]['recorded_at'] = '2026-11-20T09:29:59.999Z'
        self.broken(export(rehashed(rows)), 4, 'recorded_at_backwards')

    def test_an_unknown_version(self):
        for version in (2, 0, '1', True, 1.5, None):
            rows = golden_rows()
            rows[0]['version'] = version
            rows[0]['new_member'] = 1
            self.broken(export(rows), 1, 'unknown_version')

    def test_numbers_that_do_not_say_what_is_hashed(self):
        spelled = {
            b'"zero":0': (b'"zero":-0', b'"zero":-0.0', b'"zero":1e-400'),
            b'"tenth":0.1': (b'"tenth":0.1000000000000000000001', b'"tenth":0.10000000000000000555'),
            b'"2^53":9007199254740992': (b'"2^53":9007199254740993',),
            b'"1e21":1000000000000000000000': (b'"1e21":1000000000000000000001', b'"1e21":1e400'),
        }
        for original, others in spelled.items():
            for other in others:
                with self.subTest(other):
                    lines = golden_lines()
                    self.assertIn(original, lines[4])
                    lines[4] = lines[4].replace(original, other)
                    self.broken(b'\n'.join(lines), 5, 'inexact_number')

    def test_another_spelling_of_the_same_number_is_no_attack(self):
        lines = golden_lines()
        lines[4] = lines[4].replace(b':1000000000000000000000,', b':1e21,').replace(b'"zero":0', b'"zero":0.0e9')
        self.assertEqual(ledger.verify(io.BytesIO(b'\n'.join(lines))).entries, 6)

    def test_lines_that_are_no_rows(self):
        good = golden_lines()[0] + b'\n'
        for line, code in (
            (b'', 'bad_json'),
            (b'   ', 'bad_json'),
            (b'{', 'bad_json'),
            (golden_lines()[1][:-1], 'bad_json'),
            (golden_lines()[1] * 2, 'bad_json'),
            (b'\xef\xbb\xbf' + golden_lines()[1], 'bad_json'),
            (golden_lines()[1].replace(b'"build":4711', b'"build":NaN'), 'bad_json'),
            (b'null', 'not_an_object'),
            (b'[]', 'not_an_object'),
            (b'"\xff"', 'bad_utf8'),
            (b'"\xed\xa0\x80"', 'bad_utf8'),
            (b'"\xc0\xaf"', 'bad_utf8'),
            (golden_lines()[1].replace(b'"green"', b'"\\ud800"'), 'lone_surrogate'),
            (b'[' * 200000, 'nested_too_deeply'),
            (b'{"a":' * 200000, 'nested_too_deeply'),
        ):
            with self.subTest(line[:40]):
                self.broken(good + line + b'\n', 2, code)

    def test_a_line_without_end_is_not_read_to_its_end(self):
        class Endless(io.RawIOBase):
            given = 0

            def readable(self):
                return True

            def readinto(self, buffer):
                self.given += len(buffer)
                buffer[:] = b' ' * len(buffer)
                return len(buffer)

        endless = Endless()
        with self.assertRaises(ledger.Broken) as found:
            ledger.verify(io.BufferedReader(endless))
        self.assertEqual((found.exception.line, found.exception.problems[0][0]), (1, 'line_too_long'))
        self.assertLess(endless.given, ledger.LONGEST_LINE_BYTES + 1024 * 1024)


# --- Decisions --------------------------------------------------------------------------------------------------------


class Decisions(unittest.TestCase):
    def setUp(self):
        self.golden = vectors('decision.json')

    def invalid(self, response, key, *codes):
        data = response if isinstance(response, bytes) else json.dumps(response).encode('ascii')
        with self.assertRaises(decision.Invalid) as found:
            decision.verify(data, key)
        self.assertEqual(tuple(code for code, _ in found.exception.problems), codes, str(found.exception))

    def test_the_golden_decisions_are_valid_in_any_spelling(self):
        for case in self.golden['cases']:
            key = bytes.fromhex(case['decision_key_hex'])
            for spelled in (
                json.dumps(case['response']),
                json.dumps(case['response'], indent=4, ensure_ascii=False, sort_keys=True) + '\n',
            ):
                self.assertEqual(decision.verify(spelled.encode('utf-8'), key), case['response'])

    def test_every_part_of_a_decision_doctored(self):
        for case in self.golden['cases']:
            key = bytes.fromhex(case['decision_key_hex'])
            for name, value in case['D'].items():
                doctored = {bool: not value, str: f'{value}.'}.get(type(value), 'doctored')
                with self.subTest(name):
                    self.invalid({**case['response'], name: doctored}, key, 'digest_mismatch', 'signature_mismatch')
            self.invalid({**case['response'], 'approved': True}, key, 'digest_mismatch', 'signature_mismatch')

    def test_a_doctored_decision_with_a_digest_of_its_own(self):
        case = self.golden['cases'][1]
        doctored = {**case['response'], 'allowed': True}
        doctored['response_sha256'] = decision.response_sha256(doctored)
        self.invalid(doctored, bytes.fromhex(case['decision_key_hex']), 'signature_mismatch')

    def test_the_signature_of_another_decision(self):
        allowed, blocked = self.golden['cases'][:2]
        key = bytes.fromhex(blocked['decision_key_hex'])
        borrowed = {name: allowed['response'][name] for name in ('response_sha256', 'signature')}
        self.invalid({**blocked['response'], 'allowed': True, **borrowed}, key, 'digest_mismatch', 'signature_mismatch')

    def test_another_key(self):
        case = self.golden['cases'][0]
        self.invalid(case['response'], bytes(32), 'signature_mismatch')
        # The key of the other live key_id is another key too.
        self.invalid(case['response'], bytes.fromhex(self.golden['cases'][2]['decision_key_hex']), 'signature_mismatch')

    def test_an_answer_that_is_no_signed_decision(self):
        case = self.golden['cases'][0]
        key = bytes.fromhex(case['decision_key_hex'])
        for name in decision.NEEDED:
            self.invalid({k: v for k, v in case['response'].items() if k != name}, key, 'missing_member')
            self.invalid({**case['response'], name: 1}, key, 'wrong_form')
        self.invalid({**case['response'], 'signature': case['response']['signature'].upper()}, key, 'wrong_form')
        self.invalid({**case['response'], 'signature': 'ä' * 64}, key, 'wrong_form')
        self.invalid({**case['response'], 'signature_alg': 'none'}, key, 'unknown_signature_alg')
        self.invalid(b'{"error":"unauthorized","issues":[]}', key, *['missing_member'] * 8)
        self.invalid(b'', key, 'bad_json')
        self.invalid(b'\x80\x00', key, 'bad_utf8')
        self.invalid(b'null', key, 'not_an_object')
        self.invalid(b'[' * 200000, key, 'nested_too_deeply')
        text = json.dumps(case['response'])
        self.invalid(text.replace('"allowed": true', '"allowed": true, "allowed": true').encode(), key, 'duplicate_member')
        self.invalid(text.replace('97.5', '97.50000000000000000001').encode(), key, 'inexact_number')
        self.invalid(text.replace('nightly', '\\udead').encode(), key, 'lone_surrogate')


# --- The command line -------------------------------------------------------------------------------------------------


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, data, name='given'):
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def run_it(self, *arguments, stdin=b''):
        done = subprocess.run(
            [sys.executable, str(HERE / 'verify.py'), *arguments],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=120,
        )
        for output in (done.stdout, done.stderr):
            self.assertNotIn(b'Traceback', output)
            output.decode('ascii')  # nothing out of a file steers the terminal
            self.assertNotIn(b'\x1b', output)
        return done

    def test_ledger_whole_broken_and_unusable(self):
        data = b'\n'.join(golden_lines()) + b'\n'
        done = self.run_it('ledger', self.file(data))
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b'whole: 6 entries of tenant 3f1c2b7a-'), done.stdout)
        self.assertEqual(self.run_it('ledger', '-', stdin=data).stdout, done.stdout)
        self.assertEqual(self.run_it('ledger', '-').stdout, b'whole: 0 entries, the export is empty\n')
        tenant = make_vectors.TENANT
        self.assertEqual(self.run_it('ledger', '-', '--tenant', tenant.upper(), stdin=data).returncode, 0)
        other = self.run_it('ledger', '-', '--tenant', tenant.replace('3', '4'), stdin=data)
        self.assertEqual(other.returncode, 1)

        done = self.run_it('ledger', '-', stdin=data.replace(b'agent.promoted', b'agent.demoted'))
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith(b'broken at line 2 (seq 2): row_hash does not match'), done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 1)

        for arguments in (['ledger', str(self.folder / 'absent')], ['ledger', str(self.folder)], ['ledger', '-', '--tenant', 'x']):
            done = self.run_it(*arguments)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, b'', 1), arguments)
        for arguments in ([], ['ledger'], ['nonsense'], ['decision', 'f'], ['ledger', '-', '--nonsense']):
            self.assertEqual(self.run_it(*arguments).returncode, 2, arguments)

    def test_json_for_machines(self):
        data = b'\n'.join(golden_lines())
        said = json.loads(self.run_it('ledger', '--json', '-', stdin=data).stdout)
        self.assertEqual((said['result'], said['entries'], said['tenant_id']), ('ok', 6, make_vectors.TENANT))
        self.assertEqual(said['head_row_hash'], golden_rows()[-1]['row_hash'])
        said = json.loads(self.run_it('ledger', '--json', '-', stdin=data.replace(b'4711', b'4712')).stdout)
        self.assertEqual((said['result'], said['first_bad']['line'], said['first_bad']['seq']), ('broken', 2, 2))
        self.assertEqual(said['first_bad']['problems'][0]['code'], 'row_hash_mismatch')
        said = json.loads(self.run_it('ledger', '--json', str(self.folder / 'absent')).stdout)
        self.assertEqual(said['result'], 'unusable')

    def test_decision_valid_and_invalid(self):
        for case in vectors('decision.json')['cases']:
            path = self.file(json.dumps(case['response']).encode('ascii'))
            done = self.run_it('decision', path, '--key', case['decision_key_hex'])
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(b'ALLOWED' if case['D']['allowed'] else b'BLOCKED', done.stdout)
            key_file = self.file(case['decision_key_hex'].upper().encode() + b'\n', 'key')
            self.assertEqual(self.run_it('decision', path, '--key-file', key_file).returncode, 0)
            done = self.run_it('decision', path, '--key', '0' * 64)
            self.assertEqual((done.returncode, done.stdout[:8]), (1, b'invalid:'))
            said = json.loads(self.run_it('decision', '--json', path, '--key', '0' * 64).stdout)
            self.assertEqual([problem['code'] for problem in said['problems']], ['signature_mismatch'])
        self.assertEqual(self.run_it('decision', path, '--key', 'abc').returncode, 2)
        self.assertEqual(self.run_it('decision', '/dev/zero', '--key', '0' * 64).returncode, 1)

    def test_decision_key_derived(self):
        golden = vectors('decision.json')
        secret = self.file(golden['master_secret_base64'].encode() + b'\n')
        for case in golden['cases']:
            done = self.run_it('decision-key', '--master-secret-file', secret, '--tenant', golden['tenant_id'], '--key-id', case['key_id'])
            self.assertEqual((done.returncode, done.stdout.decode().strip()), (0, case['decision_key_hex']))
        for content in (b'', b'not base64', base64.b64encode(bytes(31)), bytes(32), b'A' * 100000):
            done = self.run_it('decision-key', '--master-secret-file', self.file(content), '--tenant', golden['tenant_id'], '--key-id', 'k')
            self.assertEqual((done.returncode, done.stdout), (2, b''))

    def test_no_input_gives_a_stack_trace(self):
        chance = random.Random(2026)
        good = b'\n'.join(golden_lines())
        inputs = [bytes(chance.getrandbits(8) for _ in range(5000)), good[: len(good) // 2], b'\n' * 10, b'\x00' * 1000, b'[' * 10**6]
        inputs += [b'{"seq":1e999999999999}', b'{"\\u001b[31m":"\x1b[31m"}', b'"' + b'a' * 10**6, b'9' * 10**6, b'1e' + b'9' * 10**6]
        inputs += [golden_lines()[0].replace(b'"actor"', b'"\\u001b[2J\xe2\x80\xae"'), b'{"version":"\\u001b[2J"}', good.replace(b'\n', b'\x00')]
        for _ in range(10):
            doctored = bytearray(good)
            doctored[chance.randrange(len(doctored))] ^= 1 << chance.randrange(8)
            inputs.append(bytes(doctored))
        for data in inputs:
            with self.subTest(data[:40]):
                done = self.run_it('ledger', '-', stdin=data)
                self.assertEqual(done.returncode, 1, done)
                self.assertEqual(len(done.stdout.splitlines()), 1)
                self.assertEqual(self.run_it('decision', '-', '--key', '0' * 64, stdin=data).returncode, 1)

    def test_a_single_line_of_100_megabytes(self):
        path = self.folder / 'long'
        with open(path, 'wb') as stream:
            for _ in range(100):
                stream.write(b'x' * 1024 * 1024)
        done = self.run_it('ledger', str(path))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'line 1: the line is longer than', done.stdout)

    def test_nobody_listening_is_no_stack_trace(self):
        reader = subprocess.Popen(
            [sys.executable, str(HERE / 'verify.py'), 'ledger', '-'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        reader.stdout.close()
        reader.stdin.close()
        complaint = reader.stderr.read()
        reader.stderr.close()
        self.assertEqual((reader.wait(60), complaint), (0, b''))


# --- The page that the formats are written down on --------------------------------------------------------------------


class FormatsPage(unittest.TestCase):
    def setUp(self):
        self.page = FORMATS_PAGE.read_text('utf-8')

    def blocks(self, marker):
        """The fenced blocks right after the comment <!-- marker -->."""
        return re.findall(rf'<!-- {marker} -->\n+```\w*\n(.*?)```', self.page, re.S)

    def test_its_row_has_the_hash_that_it_says(self):
        (line,) = self.blocks('vector: row')
        (canonical,) = self.blocks('vector: canonical row')
        row = jcs.read(line)
        entry = {name: value for name, value in row.items() if name != 'row_hash'}
        self.assertEqual(jcs.canonicalize(entry).decode('utf-8'), canonical.rstrip('\n'))
        self.assertEqual(ledger.verify(io.BytesIO(line.encode('utf-8'))).head, row['row_hash'])

    def test_its_decision_is_valid_under_its_key(self):
        (answer,) = self.blocks('vector: decision')
        (key,) = re.findall(r'`K` is `([0-9a-f]{64})`', self.page)
        response = decision.verify(answer.encode('utf-8'), bytes.fromhex(key))
        self.assertEqual(response, vectors('decision.json')['cases'][0]['response'])
        self.assertEqual(decision.decision_key(make_vectors.MASTER_SECRET, make_vectors.TENANT, 'dk-1').hex(), key)

    def test_its_ingestion_key_is_stored_as_it_says(self):
        ((prefix, secret),) = re.findall(r'`aa_live_([0-9a-f]{12})\.([A-Za-z0-9_-]{43})`', self.page)
        self.assertEqual(len(base64.urlsafe_b64decode(secret + '=')), 32)
        self.assertIn(hashlib.sha256(secret.encode('ascii')).hexdigest(), self.page)

    @unittest.skipUnless(shutil.which('jq') and shutil.which('openssl') and shutil.which('sh'), 'needs jq, openssl and sh')
    def test_its_recipe_with_jq_and_openssl_works(self):
        (recipe,) = self.blocks('recipe')
        golden = vectors('decision.json')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'decision.json'

            def said(response, key):
                path.write_text(json.dumps(response, ensure_ascii=False), 'utf-8')
                environment = {'PATH': os.environ['PATH'], 'COUNTERSIGN_DECISION_KEY': key}
                return subprocess.run(['sh', '-c', recipe], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

            for case in golden['cases']:
                done = said(case['response'], case['decision_key_hex'])
                self.assertEqual(done.returncode, 0 if case['D']['allowed'] else 1, done)
                self.assertIn(case['D']['reason'].encode(), done.stdout)
                self.assertNotIn(case['D']['reason'].encode(), said(case['response'], '0' * 64).stdout)
                doctored = {**case['response'], 'allowed': True, 'message': 'doctored'}
                done = said(doctored, case['decision_key_hex'])
                self.assertEqual((done.returncode, done.stdout), (1, b''), done)
            self.assertEqual(said({'error': 'unauthorized', 'issues': []}, '0' * 64).returncode, 1)
            self.assertEqual(said({}, '').returncode, 1)


if __name__ == '__main__':
    unittest.main()
