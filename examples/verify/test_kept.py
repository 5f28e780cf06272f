"""Tests of logs against kept checkpoints and heads, which also reveal attacks that the chain does not reveal."""

import sys

sys.dont_write_bytecode = True

import io
import json
import tracemalloc
import unittest

import kept
import key_events
import ledger
import decision_vectors
import merkle
import note
import proof_vectors
from golden import OTHER_VALUES, VerifierTest, decision_data, decisions_export, export
from golden import golden_decisions, golden_rows, rehashed, tree_data, vectors
from vector_values import TENANT
from proof_vectors import OTHER_TENANT, SEEDS, checkpoint, checkpoint_text, signed_note


class KeptHeadsOfALedger(VerifierTest):
    def setUp(self):
        super().setUp()
        self.golden = vectors('checkpoints.json')
        self.notes = self.golden['logs'][0]['checkpoints']
        self.export = self.file(export(golden_rows()), 'export')
        self.kept = [self.file(text, f'size-{size}') for size, text in enumerate(self.notes)]

    def all_checkpoints(self):
        return [argument for path in self.kept for argument in ('--checkpoint', path)]

    def test_a_valid_ledger_matches_every_kept_checkpoint(self):
        result = self.expect_ok('ledger', self.export, *self.all_checkpoints(), '--key', self.KEY, '--tenant', TENANT)
        self.assertEqual([(head['size'], head['verdict']) for head in result['kept']], [(size, 'met') for size in range(7)])
        self.assertEqual(bytes.fromhex(self.golden['logs'][0]['roots'][6]), note.from_base64(result['root']))
        (signer,) = result['kept'][6]['signed_by']
        self.assertEqual((signer['verifier_key'], signer['kid']), (self.KEY, self.golden['keys'][0]['kid']))

    def test_without_a_key_the_root_is_still_compared(self):
        self.assertEqual(self.expect_ok('ledger', self.export, *self.all_checkpoints())['kept'][6]['signed_by'], [])
        self.expect_codes('checkpoint_not_met', 'ledger', self.file(export(self.rewritten())), '--checkpoint', self.kept[6])

    def test_the_option_key_takes_a_file_of_keys_or_a_jwks_and_can_be_repeated(self):
        for text in (self.KEY + '\n', json.dumps(self.golden['jwks']), json.dumps(self.golden['jwks_after_rotating'])):
            key = self.file(text)
            self.expect_ok('ledger', self.export, '--checkpoint', self.kept[6], '--key', key)
        both = ['--key', self.STRANGERS_KEY, '--key', self.KEY]
        self.expect_ok('ledger', self.export, '--checkpoint', self.kept[6], *both)

    def test_the_head_from_a_ci_log_is_compared(self):
        self.expect_ok('ledger', self.export, '--head', self.golden['header'])
        self.expect_ok('ledger', self.export, '--head', f'Countersign-Checkpoint: {self.golden["header"]}', '--checkpoint', self.kept[3])
        self.expect_ok('ledger', self.export, '--head', self.golden['header_of_empty_logs'])
        forged = self.golden['header'].replace('size=6', 'size=5')
        self.expect_codes('checkpoint_not_met', 'ledger', self.export, '--head', forged)
        self.expect_codes('cut_off', 'ledger', self.export, '--head', self.golden['header'].replace('size=6', 'size=7'))
        self.expect_unusable('ledger', self.export, '--head', 'nonsense;')
        self.expect_unusable('ledger', self.export, '--head', self.golden['header'].split(', ')[1])

    def test_an_empty_export_matches_only_a_checkpoint_of_size_0(self):
        empty = self.file(b'')
        self.expect_ok('ledger', empty, '--checkpoint', self.kept[0], '--key', self.KEY)
        self.expect_ok('ledger', empty, '--checkpoint', self.kept[0], '--key', self.KEY, '--tenant', TENANT)
        self.expect_codes('cut_off', 'ledger', empty, '--checkpoint', self.kept[1], '--key', self.KEY)
        self.expect_codes('other_origin', 'ledger', empty, '--checkpoint', self.kept[0], '--tenant', OTHER_TENANT)

    # --- attacks ---

    def rewritten(self):
        """The ledger rewritten from row 3 on, with correct hashes and links."""
        rows = golden_rows()
        rows[2]['rationale'] = 'approved by nobody'
        return rehashed(rows)

    def test_a_missing_tail_is_detected(self):
        for size in range(6):
            short = self.file(export(golden_rows()[:size]))
            self.expect_ok('ledger', short)  # the chain alone does not reveal it
            result = self.expect_codes('cut_off', 'ledger', short, '--checkpoint', self.kept[6], '--key', self.KEY)
            self.assertIn(f'the export ends after {size}', result['problems'][0]['message'])
            self.assertEqual(result['kept'][0]['verdict'], 'beyond_the_end')

    def test_missing_rows_after_the_last_kept_checkpoint_are_not_detected(self):
        # docs/threat-model.md describes this limit.
        self.expect_ok('ledger', self.file(export(golden_rows()[:5])), '--checkpoint', self.kept[4], '--key', self.KEY)

    def test_a_chain_rewritten_with_correct_hashes_is_detected(self):
        forged = self.file(export(self.rewritten()))
        self.expect_ok('ledger', forged)  # the chain alone does not reveal it
        result = self.expect_codes(['checkpoint_not_met'] * 4, 'ledger', forged, *self.all_checkpoints(), '--key', self.KEY)
        message = result['problems'][0]['message']
        self.assertIn('the chain was rewritten, or this checkpoint is of another ledger', message)
        self.assertIn('(size 3) does not match', message)
        self.assertIn('the first 2 rows match another kept head', message)
        self.assertEqual([head['verdict'] for head in result['kept']], ['met'] * 3 + ['not_met'] * 4)

    def test_a_changed_member_with_correct_hashes_is_detected(self):
        for name in set(ledger.MEMBERS) - {'version', 'tenant_id', 'seq', 'prev_hash', 'row_hash'}:
            with self.subTest(name):
                rows = golden_rows()
                rows[1][name] = {**OTHER_VALUES, 'recorded_at': '2026-11-20T09:30:00.124Z', 'metadata': {}}.get(name, 'changed')
                forged = self.file(export(rehashed(rows)))
                self.expect_codes('checkpoint_not_met', 'ledger', forged, '--checkpoint', self.kept[6], '--key', self.KEY)

    def test_removed_inserted_and_reordered_rows_in_a_repaired_chain_are_detected(self):
        def renumbered(rows):
            for seq, row in enumerate(rows, 1):
                row['seq'] = seq
            return rehashed(rows)

        removed = golden_rows()
        del removed[2]
        inserted = golden_rows()
        inserted.insert(3, {**inserted[2], 'action': 'approval.granted'})
        reordered = golden_rows()
        reordered[0], reordered[1] = reordered[1], reordered[0]
        for what, rows, codes in (
            ('removed', removed, ['checkpoint_not_met', 'cut_off']),
            ('inserted', inserted, ['checkpoint_not_met', 'checkpoint_not_met']),
            ('reordered', reordered, ['checkpoint_not_met', 'checkpoint_not_met']),
        ):
            with self.subTest(what):
                forged = self.file(export(renumbered(rows)))
                self.expect_ok('ledger', forged)
                self.expect_codes(codes, 'ledger', forged, '--checkpoint', self.kept[4], '--checkpoint', self.kept[6], '--key', self.KEY)

    def test_a_backdated_row_is_detected(self):
        rows = golden_rows()
        rows[5]['recorded_at'] = rows[4]['recorded_at']  # not before the previous row, so the chain is valid
        forged = self.file(export(rehashed(rows)))
        self.expect_ok('ledger', forged)
        self.expect_codes('checkpoint_not_met', 'ledger', forged, '--checkpoint', self.kept[6], '--key', self.KEY)

    def test_an_entry_falsely_attributed_to_the_gate_is_detected(self):
        rows = golden_rows()
        self.assertNotEqual(rows[1]['recorded_by'], 'system:promotion-gate')
        rows[1]['recorded_by'] = 'system:promotion-gate'
        forged = self.file(export(rehashed(rows)))
        self.expect_codes('checkpoint_not_met', 'ledger', forged, '--checkpoint', self.kept[2], '--key', self.KEY)

    def test_rows_moved_to_another_tenant_are_detected(self):
        rows = [{**row, 'tenant_id': OTHER_TENANT} for row in golden_rows()]
        moved = self.file(export(rehashed(rows)))
        self.expect_ok('ledger', moved)
        self.expect_codes('other_origin', 'ledger', moved, '--checkpoint', self.kept[6], '--key', self.KEY)
        # A checkpoint of the old rows that was signed for that tenant by mistake does not match either.
        mistaken = self.file(checkpoint(f'countersign/{OTHER_TENANT}', tree_data(golden_rows())))
        self.expect_codes('checkpoint_not_met', 'ledger', moved, '--checkpoint', mistaken, '--key', self.KEY)

    def test_the_checkpoint_of_another_tenant_is_rejected(self):
        theirs = self.file(checkpoint(f'countersign/{OTHER_TENANT}', [bytes(32)] * 6))
        result = self.expect_codes('other_origin', 'ledger', self.export, '--checkpoint', theirs, '--key', self.KEY)
        self.assertIn('it says nothing about this export', result['problems'][0]['message'])

    def test_the_checkpoint_of_another_log_of_the_same_tenant_is_rejected(self):
        for log in self.golden['logs'][1:]:
            theirs = self.file(log['checkpoints'][3])
            self.expect_codes('other_origin', 'ledger', self.export, '--checkpoint', theirs, '--key', self.KEY)
        for log in ('decisions', 'keys'):
            self.expect_codes('other_origin', log, self.file(b''), '--checkpoint', self.kept[6], '--key', self.KEY)

    def test_a_fork_is_detected_with_the_checkpoint_of_the_other_branch(self):
        fork = self.file(export(self.rewritten()))
        theirs = self.file(checkpoint(self.ORIGIN, tree_data(self.rewritten())))
        self.expect_ok('ledger', fork, '--checkpoint', theirs, '--key', self.KEY)
        self.expect_ok('ledger', self.export, '--checkpoint', self.kept[6], '--key', self.KEY)
        self.expect_codes('checkpoint_not_met', 'ledger', fork, '--checkpoint', self.kept[6], '--key', self.KEY)
        self.expect_codes('checkpoint_not_met', 'ledger', self.export, '--checkpoint', theirs, '--key', self.KEY)

    def test_two_checkpoints_of_a_fork_are_reported_as_a_fork(self):
        theirs = self.file(checkpoint(self.ORIGIN, tree_data(self.rewritten())))
        both = ['--checkpoint', self.kept[6], '--checkpoint', theirs]
        result = self.expect_codes(['fork', 'checkpoint_not_met'], 'ledger', self.export, *both, '--key', self.KEY)
        self.assertIn('the instance signed both', result['problems'][0]['message'])
        result = self.expect_codes(['fork', 'checkpoint_not_met'], 'ledger', self.export, *both)
        self.assertNotIn('signed both', result['problems'][0]['message'])

    def test_an_altered_checkpoint_and_a_wrong_key_are_rejected(self):
        altered = self.file(self.notes[6].replace('\n6\n', '\n5\n'))
        result = self.expect_codes('signature_mismatch', 'ledger', self.export, '--checkpoint', altered, '--key', self.KEY)
        self.assertIn(altered, result['problems'][0]['message'])
        self.expect_codes('unknown_signer', 'ledger', self.export, '--checkpoint', self.kept[6], '--key', self.STRANGERS_KEY)
        strangers = self.file(checkpoint(self.ORIGIN, tree_data(golden_rows()), SEEDS['stranger']))
        self.expect_codes('unknown_signer', 'ledger', self.export, '--checkpoint', strangers, '--key', self.KEY)
        # One invalid checkpoint among valid ones makes the result broken.
        self.expect_codes('unknown_signer', 'ledger', self.export, *self.all_checkpoints(), '--checkpoint', strangers, '--key', self.KEY)

    def test_a_broken_row_is_reported_with_the_verdicts_on_checkpoints_before_it(self):
        rows = golden_rows()
        rows[3]['subject'] = 'changed'
        result = self.expect_codes('row_hash_mismatch', 'ledger', self.file(export(rows)), *self.all_checkpoints(), '--key', self.KEY)
        self.assertEqual((result['first_bad']['seq'], result['entries_whole_before']), (4, 3))
        self.assertEqual([head['verdict'] for head in result['kept']], ['met'] * 4 + ['not_reached'] * 3)

    def test_invalid_arguments_and_files_are_reported(self):
        self.expect_unusable('ledger', self.export, '--key', self.KEY)
        for key in ('nonsense', self.KEY.replace('A', 'B', 1), self.file(b'{}'), str(self.folder), self.file(b'x' * 2**21)):
            self.expect_unusable('ledger', self.export, '--checkpoint', self.kept[6], '--key', key)
        self.expect_unusable('ledger', self.export, '--checkpoint', str(self.folder / 'absent'))
        self.expect_codes('bad_note', 'ledger', self.export, '--checkpoint', self.export)
        self.expect_codes('too_long', 'ledger', self.export, '--checkpoint', '/dev/zero')

    def test_a_checkpoint_of_the_largest_size_is_beyond_the_end_of_the_export(self):
        text = signed_note(checkpoint_text(self.ORIGIN, 2**53 - 1, bytes(32)), SEEDS['first'])
        self.expect_codes('cut_off', 'ledger', self.export, '--checkpoint', self.file(text), '--key', self.KEY)


class KeptHeadsOfDecisions(VerifierTest):
    def setUp(self):
        super().setUp()
        self.responses = golden_decisions()
        self.export = self.file(decisions_export(self.responses))
        self.notes = vectors('checkpoints.json')['logs'][1]['checkpoints']
        self.kept = self.file(self.notes[3])

    def expect_broken(self, responses, code, *others):
        path = self.file(responses if isinstance(responses, bytes) else decisions_export(responses))
        return self.expect_codes(code, 'decisions', path, '--checkpoint', self.kept, '--key', self.KEY, *others)

    def test_a_valid_log_matches_its_checkpoints(self):
        every = [argument for text in self.notes for argument in ('--checkpoint', self.file(text))]
        result = self.expect_ok('decisions', self.export, *every, '--key', self.KEY, '--head', vectors('checkpoints.json')['header'])
        self.assertEqual((result['entries'], result['allowed'], len(result['kept'])), (3, 1, 5))
        # These decisions are of an earlier version and name no tenant.
        self.expect_codes('missing_member', 'decisions', self.export, '--checkpoint', self.kept, '--tenant', TENANT)
        self.expect_ok('decisions', self.file(b''), '--checkpoint', self.file(self.notes[0]), '--key', self.KEY)

    def test_an_altered_decision_is_detected(self):
        for name, value in self.responses[1].items():
            altered = {**self.responses[1], name: OTHER_VALUES.get(name, {bool: not value, str: f'{value}.'}.get(type(value), 'altered'))}
            # The digest does not cover the three excluded members. `verify.py decision` checks the HMAC with the tenant's key.
            if name not in ('response_sha256', 'signature', 'signature_alg'):
                with self.subTest(name):
                    self.expect_broken([self.responses[0], altered, self.responses[2]], 'digest_mismatch')

    def test_an_altered_decision_with_a_recomputed_digest_is_detected(self):
        forged = decision_vectors.decision_response({**decision_vectors.BLOCKED, 'allowed': True})
        responses = [self.responses[0], forged, self.responses[2]]
        self.expect_ok('decisions', self.file(decisions_export(responses)))
        result = self.expect_broken(responses, 'checkpoint_not_met')
        self.assertIn('the log was rewritten, or this checkpoint is of another log', result['problems'][0]['message'])

    def test_a_deleted_decision_is_detected(self):
        self.assertTrue(self.responses[0]['allowed'])
        lines = decisions_export(self.responses).splitlines(True)
        self.expect_broken(b''.join(lines[1:]), 'seq_gap')
        self.expect_ok('decisions', self.file(decisions_export(self.responses[1:])))  # after renumbering, only the checkpoint reveals it
        self.expect_broken(self.responses[1:], 'cut_off')
        self.expect_broken([*self.responses[1:], self.responses[1]], 'logged_twice')

    def test_reordered_decisions_are_detected(self):
        self.expect_broken([self.responses[1], self.responses[0], self.responses[2]], 'checkpoint_not_met')

    def test_the_log_of_another_tenant_matches_only_its_own_checkpoint(self):
        theirs = self.file(checkpoint(f'countersign/{OTHER_TENANT}/decisions', decision_data(self.responses[1:])))
        export = self.file(decisions_export(self.responses[1:]))
        self.expect_ok('decisions', export, '--checkpoint', theirs, '--key', self.KEY)
        self.expect_codes('other_origin', 'decisions', export, '--checkpoint', theirs, '--checkpoint', self.kept, '--key', self.KEY)

    def test_lines_that_are_not_decisions_are_rejected(self):
        line = json.loads(decisions_export(self.responses[:1]))
        good = line['decision']
        for changed, code in (
            ({'seq': 1}, 'missing_member'),
            ({**line, 'seq': '1'}, 'wrong_form'),
            ({**line, 'seq': 0}, 'wrong_form'),
            ({**line, 'seq': True}, 'wrong_form'),
            ({**line, 'seq': 2}, 'seq_gap'),
            ({**line, 'more': 1}, 'extra_member'),
            ({**line, 'decision': []}, 'wrong_form'),
            (good, ['missing_member', 'missing_member', 'extra_member']),
            ({**line, 'decision': {**good, 'signature_alg': 'none'}}, 'unknown_signature_alg'),
            ({**line, 'decision': {**good, 'response_sha256': 'x'}}, 'wrong_form'),
            ({**line, 'decision': {**good, 'reason': '\ud800'}}, 'lone_surrogate'),
            ([], 'not_an_object'),
        ):
            with self.subTest(code):
                path = self.file(json.dumps(changed).encode('ascii') + b'\n')
                self.assertEqual(self.expect_codes(code, 'decisions', path)['first_bad']['line'], 1)
        self.expect_codes('bad_json', 'decisions', self.file(b'{'))
        self.expect_codes('inexact_number', 'decisions', self.file(decisions_export([good]).replace(b'97.5', b'97.50000000000000000001')))


class KeptHeadsOfKeyEvents(VerifierTest):
    def setUp(self):
        super().setUp()
        self.events = proof_vectors.key_events_of(TENANT)
        self.kept = self.file(vectors('checkpoints.json')['logs'][2]['checkpoints'][3])

    def expect_broken(self, events, code):
        return self.expect_codes(code, 'keys', self.file(export(events)), '--checkpoint', self.kept, '--key', self.KEY)

    def test_the_golden_events_have_the_golden_leaf_data(self):
        for case in vectors('checkpoints.json')['key_events']:
            self.assertEqual(key_events.leaf_data(case['event']).hex(), case['leaf_data'])
        self.expect_ok('keys', self.file(export(self.events)), '--checkpoint', self.kept, '--key', self.KEY, '--tenant', TENANT)

    def test_a_change_of_any_member_of_an_event_is_detected(self):
        other = {'version': 1, 'seq': 3, 'kind': 'read', 'credential_sha256': 'ab' * 32, 'prefix': 'abcdefabcdef', 'action': 'rotated'}
        other.update(tenant_id=OTHER_TENANT, scopes=['audit'], recorded_at='2026-11-20T09:32:00.001Z', expires_at=None)
        codes = {'version': 'wrong_form', 'action': 'does_not_follow', 'seq': 'seq_gap', 'tenant_id': 'other_tenant'}
        for name in key_events.MEMBERS:
            with self.subTest(name):
                events = [dict(event) for event in self.events]
                events[1][name] = other.get(name, OTHER_VALUES.get(name, 'altered'))
                self.expect_broken(events, codes.get(name, 'checkpoint_not_met'))

    def test_a_deleted_key_event_is_detected(self):
        self.expect_broken(self.events[:1] + self.events[2:], 'seq_gap')
        self.expect_broken([self.events[0], {**self.events[2], 'seq': 2}], 'cut_off')
        self.expect_broken(self.events[:2], 'cut_off')


class Memory(unittest.TestCase):
    def test_memory_does_not_grow_with_the_export(self):
        class Rows(io.RawIOBase):
            """An export that is generated while it is read."""

            def __init__(self, rows):
                self.rows, self.seq, self.prev_hash, self.buffer = rows, 0, None, b''

            def readable(self):
                return True

            def readinto(self, buffer):
                while len(self.buffer) < len(buffer) and self.seq < self.rows:
                    self.seq += 1
                    row = {**template, 'seq': self.seq, 'prev_hash': self.prev_hash}
                    self.prev_hash = ledger.row_hash(row)
                    self.buffer += json.dumps({**row, 'row_hash': self.prev_hash}).encode('ascii') + b'\n'
                chunk = self.buffer[: len(buffer)]
                buffer[: len(chunk)], self.buffer = chunk, self.buffer[len(chunk) :]
                return len(chunk)

        template = {name: value for name, value in golden_rows()[0].items() if name != 'row_hash'}
        heads = [kept.Head('', size, merkle.EMPTY_ROOT, None, None) for size in range(0, 4000, 100)]
        peaks = []
        for rows in (200, 4000):
            tracemalloc.start()
            try:
                comparison = kept.Comparison(heads)
                self.assertEqual(ledger.verify(io.BufferedReader(Rows(rows)), tree=comparison).entries, rows)
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        self.assertLess(peaks[1], peaks[0] + 50_000, peaks)


if __name__ == '__main__':
    unittest.main()
