"""Tests of the audit chain: valid ledgers, and attacks that the chain reveals without checkpoints."""

import sys

sys.dont_write_bytecode = True

import io
import json
import unittest

import jcs
import ledger
import ndjson
from golden import OTHER_VALUES, export, golden_lines, golden_rows, rehashed, vectors


class ValidLedgers(unittest.TestCase):
    def verified(self, data, tenant_id=None):
        return ledger.verify(io.BytesIO(data), tenant_id)

    def test_the_golden_chain_is_valid(self):
        golden = vectors('audit-chain.json')
        chain = self.verified(b'\n'.join(golden_lines()) + b'\n', golden['tenant_id'])
        self.assertEqual((chain.entries, chain.tenant_id), (6, golden['tenant_id']))
        self.assertEqual(chain.head, golden['entries'][-1]['row_hash'])

    def test_member_order_white_space_and_line_ends_do_not_matter(self):
        respelled = []
        for row in golden_rows():
            respelled.append(json.dumps(dict(reversed(list(row.items()))), indent=None, separators=(' ,  ', ' : ')).encode('ascii'))
        self.assertEqual(self.verified(b'\r\n'.join(respelled)).entries, 6)
        canonical = b''.join(jcs.canonicalize(jcs.read(line.decode('utf-8'))) + b'\n' for line in golden_lines())
        self.assertEqual(self.verified(canonical).entries, 6)

    def test_an_empty_export_is_valid(self):
        chain = self.verified(b'')
        self.assertEqual((chain.entries, chain.head), (0, None))

    def test_the_chain_alone_does_not_show_a_missing_tail(self):
        # A documented limit (README.md and docs/formats.md). Only checkpoints reveal a missing tail.
        self.assertEqual(self.verified(b'\n'.join(golden_lines()[:4])).entries, 4)


class AttacksOnALedger(unittest.TestCase):
    def expect_broken(self, data, line, *codes, tenant_id=None):
        with self.assertRaises(ledger.InvalidLine) as found:
            ledger.verify(io.BytesIO(data), tenant_id)
        self.assertEqual(found.exception.line, line, str(found.exception))
        self.assertEqual(tuple(code for code, _ in found.exception.problems), codes, str(found.exception))
        return found.exception

    def test_a_change_of_any_member_is_detected(self):
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
                self.assertEqual(self.expect_broken(export(rows), 2, *codes).seq, rows[1]['seq'])

    def test_a_change_with_a_recomputed_hash_breaks_the_next_link(self):
        excluded = ('version', 'tenant_id', 'seq', 'recorded_at', 'metadata', 'prev_hash', 'row_hash')
        for name in set(ledger.MEMBERS) - set(excluded):
            with self.subTest(name):
                rows = golden_rows()
                rows[1][name] = OTHER_VALUES.get(name, 'changed')
                rows[1]['row_hash'] = ledger.row_hash({key: value for key, value in rows[1].items() if key != 'row_hash'})
                self.expect_broken(export(rows), 3, 'prev_hash_mismatch')

    def test_a_missing_member_is_detected(self):
        for name in ledger.MEMBERS:
            with self.subTest(name):
                rows = golden_rows()
                del rows[2][name]
                self.expect_broken(export(rows), 3, 'missing_member')

    def test_a_malformed_member_is_detected_even_with_a_correct_hash(self):
        others = {'seq': [0, -1, '3'], 'recorded_at': ['yesterday', '2026-11-20T09:30:01Z', '2026-11-20T09:30:01.000+00:00']}
        others.update({'metadata': ['x'], 'prev_hash': ['x', 'A' * 64], 'row_hash': ['x', 'A' * 64, None]})
        others.update({'actor': [None], 'tenant_id': [None]})
        for name in ledger.MEMBERS:
            for value in [7.5, True, [], *others.get(name, [])]:
                with self.subTest(name, value=value):
                    rows = golden_rows()
                    rows[2][name] = value
                    if name != 'row_hash':
                        rows[2]['row_hash'] = ledger.row_hash({key: member for key, member in rows[2].items() if key != 'row_hash'})
                    self.expect_broken(export(rows), 3, 'unknown_version' if name == 'version' else 'wrong_form')

    def test_a_removed_row_is_detected(self):
        for index in range(5):
            lines = golden_lines()
            del lines[index]
            self.expect_broken(b'\n'.join(lines), index + 1, 'seq_gap', 'prev_hash_mismatch')

    def test_missing_first_rows_are_detected(self):
        self.expect_broken(b'\n'.join(golden_lines()[3:]), 1, 'seq_gap', 'prev_hash_mismatch')

    def test_an_inserted_row_is_detected(self):
        lines = golden_lines()
        lines.insert(3, lines[2])
        self.expect_broken(b'\n'.join(lines), 4, 'seq_gap', 'prev_hash_mismatch')
        rows = golden_rows()
        forged = {**rows[2], 'seq': 4, 'prev_hash': rows[2]['row_hash'], 'action': 'approval.granted'}
        forged['row_hash'] = ledger.row_hash({name: value for name, value in forged.items() if name != 'row_hash'})
        rows.insert(3, forged)
        self.expect_broken(export(rows), 5, 'seq_gap', 'prev_hash_mismatch')

    def test_swapped_rows_are_detected(self):
        lines = golden_lines()
        lines[2], lines[3] = lines[3], lines[2]
        self.expect_broken(b'\n'.join(lines), 3, 'seq_gap', 'prev_hash_mismatch')

    def test_a_row_of_another_tenant_is_detected(self):
        rows = golden_rows()
        rows[3]['tenant_id'] = '00000000-0000-4000-8000-000000000000'
        self.expect_broken(export(rehashed(rows)), 4, 'tenant_changes')

    def test_the_ledger_of_another_tenant_is_rejected(self):
        self.expect_broken(b'\n'.join(golden_lines()), 1, 'other_tenant', tenant_id='00000000-0000-4000-8000-000000000000')

    def test_a_removed_row_is_detected_even_if_the_rest_is_renumbered(self):
        rows = golden_rows()
        del rows[2]
        for seq, row in enumerate(rows, 1):
            row['seq'] = seq
        self.expect_broken(export(rows), 3, 'row_hash_mismatch', 'prev_hash_mismatch')

    def test_an_extra_member_is_detected_even_with_a_correct_hash(self):
        rows = golden_rows()
        rows[4]['approved'] = True
        self.expect_broken(export(rows), 5, 'extra_member')
        self.expect_broken(export(rehashed(rows)), 5, 'extra_member')

    def test_a_duplicate_member_is_detected(self):
        for altered in (
            lambda line: line[:-1] + b',"actor":"somebody else"}',
            lambda line: b'{"actor":"somebody else",' + line[1:],
            lambda line: b'{"\\u0061ctor":"somebody else",' + line[1:],
            lambda line: line.replace(b'"metadata":{', b'"metadata":{"green":true,'),
        ):
            lines = golden_lines()
            lines[1] = altered(lines[1])
            self.expect_broken(b'\n'.join(lines), 2, 'duplicate_member')

    def test_a_time_that_goes_backwards_is_detected(self):
        rows = golden_rows()
        rows[3]['recorded_at'] = '2026-11-20T09:29:59.999Z'
        self.expect_broken(export(rehashed(rows)), 4, 'recorded_at_backwards')

    def test_an_unknown_version_is_rejected(self):
        for version in (2, 0, '1', True, 1.5, None):
            rows = golden_rows()
            rows[0]['version'] = version
            rows[0]['new_member'] = 1
            self.expect_broken(export(rows), 1, 'unknown_version')

    def test_numbers_that_differ_from_the_hashed_value_are_rejected(self):
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
                    self.expect_broken(b'\n'.join(lines), 5, 'inexact_number')

    def test_another_spelling_of_the_same_number_is_accepted(self):
        lines = golden_lines()
        lines[4] = lines[4].replace(b':1000000000000000000000,', b':1e21,').replace(b'"zero":0', b'"zero":0.0e9')
        self.assertEqual(ledger.verify(io.BytesIO(b'\n'.join(lines))).entries, 6)

    def test_lines_that_are_not_rows_are_rejected(self):
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
                self.expect_broken(good + line + b'\n', 2, code)

    def test_an_endless_line_is_read_only_to_the_limit(self):
        class Endless(io.RawIOBase):
            bytes_read = 0

            def readable(self):
                return True

            def readinto(self, buffer):
                self.bytes_read += len(buffer)
                buffer[:] = b' ' * len(buffer)
                return len(buffer)

        endless = Endless()
        with self.assertRaises(ledger.InvalidLine) as found:
            ledger.verify(io.BufferedReader(endless))
        self.assertEqual((found.exception.line, found.exception.problems[0][0]), (1, 'line_too_long'))
        self.assertLess(endless.bytes_read, ndjson.LINE_BYTES_MAX + 1024 * 1024)


if __name__ == '__main__':
    unittest.main()
