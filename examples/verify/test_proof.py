"""Tests of single documents: inclusion proofs, consistency proofs, attestations."""

import sys

sys.dont_write_bytecode = True

import json
import random
import unittest

import attestation
import jcs
import note
import proof_vectors
from golden import OTHER_VALUES, VerifierTest, golden_decisions, golden_rows, rehashed, tree_data, vectors
from vector_values import TENANT
from proof_vectors import OTHER_TENANT, SEEDS, checkpoint, consistency_document, envelope, inclusion_text


class InclusionProofs(VerifierTest):
    def setUp(self):
        super().setUp()
        self.golden = vectors('checkpoints.json')
        self.rows = golden_rows()
        self.data = tree_data(self.rows)
        self.signed = self.golden['logs'][0]['checkpoints'][6]

    def proof(self, index=2, data=None, signed=None, **others):
        return self.file(inclusion_text(index, data or self.data, signed or self.signed, **others))

    def entry(self, entry):
        return self.file(json.dumps(entry))

    def test_every_golden_proof_proves_its_row(self):
        for log in self.golden['logs']:
            for case in log['inclusion']:
                path, leaf = self.file(case['text'], 'proof'), log['leaf_data'][case['index']]
                result = self.expect_ok('proof', path, '--row-hash', leaf.upper(), '--key', self.KEY, '--origin', log['origin'])
                self.assertEqual((result['seq'], result['size'], result['leaf_data']), (case['index'] + 1, case['size'], leaf))

    def test_a_row_a_decision_and_a_key_event_can_be_given_as_entries(self):
        row = dict(self.rows[2])
        self.expect_ok('proof', self.proof(), '--entry', self.entry(row), '--key', self.KEY)
        del row['row_hash']
        self.expect_ok('proof', self.proof(), '--entry', self.entry(row), '--key', self.KEY)
        decisions, events = self.golden['logs'][1:]
        proof = self.file(decisions['inclusion'][4]['text'])  # index 1 of 3
        for entry in (golden_decisions()[1], {'seq': 2, 'decision': golden_decisions()[1]}):
            self.expect_ok('proof', proof, '--entry', self.entry(entry), '--key', self.KEY)
        proof = self.file(events['inclusion'][4]['text'])
        self.expect_ok('proof', proof, '--entry', self.entry(self.golden['key_events'][1]['event']), '--key', self.KEY)

    def test_extra_data_is_ignored(self):
        self.expect_ok('proof', self.proof(extra=b'anything'), '--row-hash', self.data[2].hex(), '--key', self.KEY)
        self.expect_ok('proof', self.proof(extra=b''), '--row-hash', self.data[2].hex(), '--key', self.KEY)

    def test_an_altered_row_is_rejected(self):
        for name in ('actor', 'recorded_by', 'action', 'subject'):
            altered = {**self.rows[2], name: OTHER_VALUES['recorded_by'] if name == 'recorded_by' else 'somebody else'}
            self.expect_codes('row_hash_mismatch', 'proof', self.proof(), '--entry', self.entry(altered), '--key', self.KEY)
            del altered['row_hash']
            self.expect_codes('disproved', 'proof', self.proof(), '--entry', self.entry(altered), '--key', self.KEY)

    def test_another_row_another_index_and_another_tenant_are_rejected(self):
        self.expect_codes('disproved', 'proof', self.proof(), '--row-hash', self.data[3].hex(), '--key', self.KEY)
        self.expect_codes('disproved', 'proof', self.proof(), '--entry', self.entry(self.rows[3]), '--key', self.KEY)
        other = rehashed([{**row, 'tenant_id': OTHER_TENANT} for row in golden_rows()])
        self.expect_codes('other_tenant', 'proof', self.proof(), '--entry', self.entry(other[2]), '--key', self.KEY)
        decisions = self.file(self.golden['logs'][1]['inclusion'][4]['text'])
        for entry in ({'seq': 1, 'decision': golden_decisions()[1]}, golden_decisions()[0]):
            self.expect_codes('disproved', 'proof', decisions, '--entry', self.entry(entry), '--key', self.KEY)
        altered = {**golden_decisions()[1], 'allowed': True}
        self.expect_codes('digest_mismatch', 'proof', decisions, '--entry', self.entry(altered), '--key', self.KEY)

    def test_a_proof_is_rejected_if_its_origin_its_log_or_its_key_is_not_the_expected_one(self):
        row_hash = ['--row-hash', self.data[2].hex()]
        self.expect_codes('other_origin', 'proof', self.proof(), *row_hash, '--key', self.KEY, '--origin', f'countersign/{OTHER_TENANT}')
        self.expect_codes('unknown_signer', 'proof', self.proof(), *row_hash, '--key', self.STRANGERS_KEY)
        foreign = self.proof(signed=checkpoint('example.com/log', self.data))
        self.expect_ok('proof', foreign, *row_hash, '--key', self.KEY)  # a valid proof of the log that the output names
        self.expect_codes('other_origin', 'proof', foreign, '--entry', self.entry(self.rows[2]), '--key', self.KEY)

    def test_an_altered_proof_is_rejected(self):
        good = inclusion_text(2, self.data, self.signed)
        lines = good.split('\n')
        swapped = '\n'.join([*lines[:2], lines[3], lines[2], *lines[4:]])
        for text, code in (
            (good.replace('index 2', 'index 3'), 'disproved'),
            (good.replace('index 2', 'index 6'), 'disproved'),
            (good.replace('\n6\n', '\n7\n'), 'signature_mismatch'),
            (swapped, 'disproved'),
            ('\n'.join(lines[:2] + lines[3:]), 'disproved'),
            ('\n'.join(lines[:2] + [lines[2]] + lines[2:]), 'disproved'),
            ('\n'.join(lines[:2] + [lines[2]] * 500 + lines[2:]), 'bad_proof'),
            (good.replace('index 2', 'index 02'), 'bad_proof'),
            (good.replace('index 2', 'index -2'), 'bad_proof'),
            (good.replace('index 2\n', ''), 'bad_proof'),
            (good.replace('v1', 'v2', 1), 'bad_proof'),
            (good.replace('index 2', 'extra ?\nindex 2'), 'bad_proof'),
            (good.replace('=\n', '\n', 1), 'bad_proof'),
            (good.replace('\n\n', '\n', 1), 'bad_proof'),
            (good[:40], 'bad_proof'),
            ('', 'bad_proof'),
        ):
            with self.subTest(text[:60], code=code):
                self.expect_codes(code, 'proof', self.file(text), '--row-hash', self.data[2].hex(), '--key', self.KEY)
        self.expect_codes('bad_utf8', 'proof', self.file(b'\xff'), '--row-hash', self.data[2].hex(), '--key', self.KEY)

    def test_invalid_entries_are_rejected(self):
        for entry, code in (
            (b'', 'bad_json'),
            (b'7', 'not_an_object'),
            (b'{}', ['missing_member'] * 16),
            (b'\xff', 'bad_utf8'),
            (b'{"a":"\\ud800"}', 'lone_surrogate'),
            (json.dumps({**self.rows[2], 'approved': True}).encode(), 'extra_member'),
            (b'[' * 10**5, 'nested_too_deeply'),
        ):
            with self.subTest(entry[:40]):
                self.expect_codes(code, 'proof', self.proof(), '--entry', self.file(entry), '--key', self.KEY)
        self.expect_unusable('proof', self.proof(), '--row-hash', 'xyz', '--key', self.KEY)


class ConsistencyProofs(VerifierTest):
    def setUp(self):
        super().setUp()
        self.golden = vectors('checkpoints.json')
        self.data = tree_data(golden_rows())
        self.notes = self.golden['logs'][0]['checkpoints']
        self.document = consistency_document('audit', 3, self.data, self.notes[6])
        self.first = self.file(self.notes[3])

    def expect_broken(self, code, kept=None, key=None, **changes):
        path = self.file(json.dumps({**self.document, **changes}))
        return self.expect_codes(code, 'consistency', path, '--first', kept or self.first, '--key', key or self.KEY)

    def test_every_golden_proof_proves_growth(self):
        for log in self.golden['logs']:
            kept = [self.file(text) for text in log['checkpoints']]
            for case in log['consistency']:
                path = self.file(json.dumps(case), 'proof')
                result = self.expect_ok('consistency', path, '--first', kept[case['first']], '--key', self.KEY)
                self.assertEqual((result['first'], result['second'], result['origin']), (case['first'], case['second'], log['origin']))

    def test_the_head_from_a_ci_log_can_replace_the_first_checkpoint(self):
        document = consistency_document('audit', 6, self.data, self.notes[6])
        self.expect_ok('consistency', self.file(json.dumps(document)), '--head', self.golden['header'], '--key', self.KEY)
        forged = self.golden['header'].replace('IDJ0', 'IDJ1')
        self.expect_codes('fork', 'consistency', self.file(json.dumps(document)), '--head', forged, '--key', self.KEY)

    def test_a_rewritten_log_is_detected(self):
        rows = golden_rows()
        rows[1]['subject'] = 'rewritten'
        data = tree_data(rehashed(rows))
        signed = checkpoint(self.ORIGIN, data)
        self.expect_broken('disproved', **consistency_document('audit', 3, data, signed))
        whole = consistency_document('audit', 6, data, signed)
        self.expect_broken('fork', self.file(self.notes[6]), **whole)

    def test_an_altered_proof_is_rejected(self):
        hashes = self.document['hashes']
        self.expect_broken('disproved', hashes=hashes[::-1])
        self.expect_broken('disproved', hashes=hashes[:-1])
        self.expect_broken('disproved', hashes=[])
        self.expect_broken('disproved', hashes=[*hashes, hashes[0]])
        self.expect_broken('bad_proof', hashes=hashes * 100)
        self.expect_broken('bad_proof', hashes=['AAAA'])
        self.expect_broken('bad_proof', hashes=[7])
        self.expect_broken('bad_proof', hashes=None)
        self.expect_broken('bad_proof', second=7)
        self.expect_broken('bad_proof', second=True)
        self.expect_broken('bad_proof', first='3')
        self.expect_broken('bad_proof', first=3.5)
        self.expect_broken('other_size', first=4)
        self.expect_broken('bad_proof', log='decisions')
        self.expect_broken('bad_proof', log=self.ORIGIN)
        self.expect_broken('bad_note', checkpoint='')
        self.expect_broken('lone_surrogate', checkpoint='\ud800')
        self.expect_broken('signature_mismatch', checkpoint=self.notes[6].replace('\n6\n', '\n7\n'))

    def test_another_key_another_log_and_another_size_are_rejected(self):
        self.expect_broken('unknown_signer', key=self.STRANGERS_KEY)
        self.expect_broken('unknown_signer', self.file(checkpoint(self.ORIGIN, self.data[:3], SEEDS['stranger'])))
        self.expect_broken('other_origin', self.file(checkpoint(f'countersign/{OTHER_TENANT}', self.data[:3])))
        self.expect_broken('other_size', self.file(self.notes[2]))
        self.expect_broken('bad_note', self.file(b'nonsense'))

    def test_a_kept_checkpoint_larger_than_the_current_log_is_rejected(self):
        document = {**consistency_document('audit', 3, self.data[:4], self.notes[4]), 'first': 6}
        self.expect_broken('disproved', self.file(self.notes[6]), **document)

    def test_invalid_documents_are_rejected(self):
        for data, code in (
            (b'', 'bad_json'),
            (b'[]', 'bad_proof'),
            (b'{}', 'bad_proof'),
            (b'\xff', 'bad_utf8'),
            (b'{"a":1,"a":1}', 'duplicate_member'),
        ):
            self.expect_codes(code, 'consistency', self.file(data), '--first', self.first, '--key', self.KEY)


class Attestations(VerifierTest):
    def setUp(self):
        super().setUp()
        self.golden = vectors('attestation.json')
        self.responses = golden_decisions()
        self.payload = jcs.canonicalize(attestation.statement(self.responses[0]))

    def expect_broken(self, code, signed, key=None):
        path = self.file(signed if isinstance(signed, bytes) else json.dumps(signed))
        return self.expect_codes(code, 'attestation', path, '--key', key or self.KEY)

    def test_the_pre_authentication_encoding_matches_the_specification(self):
        encoded = attestation.pre_authentication_encoding('http://example.com/HelloWorld', b'hello world')
        self.assertEqual(encoded, b'DSSEv1 29 http://example.com/HelloWorld 11 hello world')

    def test_every_golden_attestation_is_valid(self):
        for case in self.golden['cases']:
            path = self.file(json.dumps(case['envelope'], indent=2))
            result = self.expect_ok('attestation', path, '--key', self.KEY)
            expected = {name: case['response'][name] for name in ('allowed', 'decision_id', 'response_sha256')}
            self.assertEqual({name: result[name] for name in expected}, expected)
            self.expect_ok('attestation', path, '--key', self.file(json.dumps(self.golden['jwks'])))
            both = self.file(json.dumps(case['envelope_while_rotating']))
            for key in (self.KEY, self.SECOND_KEY):
                self.assertEqual(len(self.expect_ok('attestation', both, '--key', key)['signed_by']), 1)
            self.assertEqual(len(self.expect_ok('attestation', both, '--key', self.KEY, '--key', self.SECOND_KEY)['signed_by']), 2)
            self.expect_broken('unknown_signer', case['envelope_while_rotating'], self.STRANGERS_KEY)

    def test_every_invalid_envelope_is_rejected(self):
        for case in self.golden['refused']:
            with self.subTest(case['what']):
                self.expect_broken(case['code'], case['envelope'])

    def test_base64url_is_rejected(self):
        signed = envelope(self.payload, SEEDS['first'])
        signed['payload'] = signed['payload'].replace('+', '-').replace('/', '_')
        signed['signatures'][0]['sig'] = signed['signatures'][0]['sig'].replace('+', '-').replace('/', '_')
        self.expect_codes('bad_envelope', 'attestation', self.file(json.dumps(signed)), '--key', self.KEY)

    def test_an_invalid_signature_next_to_a_valid_one_is_ignored(self):
        signed = envelope(self.payload, SEEDS['second'], SEEDS['first'])
        signed['signatures'][0]['sig'] = signed['signatures'][1]['sig']
        result = self.expect_ok('attestation', self.file(json.dumps(signed)), '--key', self.KEY, '--key', self.SECOND_KEY)
        self.assertEqual([key['verifier_key'] for key in result['signed_by']], [self.KEY])

    def test_a_changed_bit_of_the_payload_is_detected(self):
        chance, signed = random.Random(2026), envelope(self.payload, SEEDS['first'])
        for _ in range(40):
            altered = bytearray(self.payload)
            altered[chance.randrange(len(altered))] ^= 1 << chance.randrange(8)
            self.expect_broken('signature_mismatch', {**signed, 'payload': note.to_base64(bytes(altered))})

    def test_a_key_that_was_retired_before_the_decision_is_rejected(self):
        key = {**proof_vectors.jwk(SEEDS['first']), 'retired_at': self.responses[0]['timestamp']}
        signed = self.file(json.dumps(envelope(self.payload, SEEDS['first'])))
        result = self.expect_ok('attestation', signed, '--key', self.file(json.dumps({'keys': [key]})))
        self.assertEqual(result['signed_by'][0]['retired_at'], key['retired_at'])
        earlier = {**key, 'retired_at': '2026-11-20T11:59:59.999Z'}
        ended = self.file(json.dumps({'keys': [earlier, proof_vectors.jwk(SEEDS['second'])]}))
        self.expect_codes('key_retired', 'attestation', signed, '--key', ended)
        both = self.file(json.dumps(envelope(self.payload, SEEDS['first'], SEEDS['second'])))
        self.assertEqual([signer.get('retired_at') for signer in self.expect_ok('attestation', both, '--key', ended)['signed_by']], [None])

    def test_malformed_envelopes_are_rejected(self):
        signed = envelope(self.payload, SEEDS['first'])
        (signature,) = signed['signatures']
        for changed, code in (
            (b'', 'bad_json'),
            (b'\xff', 'bad_utf8'),
            (b'[]', 'not_an_object'),
            (b'{}', 'unknown_payload_type'),
            (json.dumps(signed).encode().replace(b'{', b'{"payload":"",', 1), 'duplicate_member'),
            ({**signed, 'payload': '?'}, 'bad_envelope'),
            ({**signed, 'payload': None}, 'bad_envelope'),
            ({**signed, 'signatures': {}}, 'bad_envelope'),
            ({**signed, 'signatures': [7]}, 'bad_envelope'),
            ({**signed, 'signatures': [{**signature, 'sig': '?'}]}, 'bad_envelope'),
            ({**signed, 'signatures': [signature] * 1000}, 'bad_envelope'),
            ({**signed, 'signatures': [{**signature, 'sig': ''}]}, 'signature_mismatch'),
            ({**signed, 'signatures': [{**signature, 'keyid': 7}]}, 'bad_envelope'),
        ):
            with self.subTest(code=code):
                self.expect_broken(code, changed)

    def test_payloads_that_are_not_a_statement_are_rejected_even_with_a_valid_signature(self):
        statement = attestation.statement(self.responses[0])
        for payload, code in (
            (b'', 'bad_json'),
            (b'\xff', 'bad_utf8'),
            (b'null', 'unknown_statement'),
            (b'{}', 'unknown_statement'),
            (jcs.canonicalize({**statement, 'predicate': []}), 'not_an_object'),
            (jcs.canonicalize({**statement, 'subject': []}), 'subject_mismatch'),
            (jcs.canonicalize({**statement, 'subject': statement['subject'] * 2}), 'subject_mismatch'),
            (jcs.canonicalize({**statement, 'more': 1}), 'subject_mismatch'),
            (json.dumps(statement).encode(), 'not_canonical'),
            (b'[' * 10**5, 'nested_too_deeply'),
        ):
            with self.subTest(payload[:40]):
                self.expect_broken(code, envelope(payload, SEEDS['first']))

    def test_an_attestation_of_an_older_decision_names_no_tenant(self):
        # The golden decisions have no tenant_id. Newer decisions have one.
        self.assertNotIn(TENANT, self.payload.decode('utf-8'))


if __name__ == '__main__':
    unittest.main()
