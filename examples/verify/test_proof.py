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
from golden import OTHER_VALUES, Asking, golden_decisions, golden_rows, rehashed, tree_data, vectors
from vector_values import TENANT
from proof_vectors import OTHER_TENANT, SEEDS, checkpoint, consistency_document, envelope, inclusion_text


class InclusionProofs(Asking):
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
                said = self.good('proof', path, '--row-hash', leaf.upper(), '--key', self.KEY, '--origin', log['origin'])
                self.assertEqual((said['seq'], said['size'], said['leaf_data']), (case['index'] + 1, case['size'], leaf))

    def test_the_row_the_decision_and_the_key_event_themselves(self):
        row = dict(self.rows[2])
        self.good('proof', self.proof(), '--entry', self.entry(row), '--key', self.KEY)
        del row['row_hash']
        self.good('proof', self.proof(), '--entry', self.entry(row), '--key', self.KEY)
        decisions, events = self.golden['logs'][1:]
        proof = self.file(decisions['inclusion'][4]['text'])  # index 1 of 3
        for entry in (golden_decisions()[1], {'seq': 2, 'decision': golden_decisions()[1]}):
            self.good('proof', proof, '--entry', self.entry(entry), '--key', self.KEY)
        proof = self.file(events['inclusion'][4]['text'])
        self.good('proof', proof, '--entry', self.entry(self.golden['key_events'][1]['event']), '--key', self.KEY)

    def test_with_extra_data_which_counts_for_nothing(self):
        self.good('proof', self.proof(extra=b'anything'), '--row-hash', self.data[2].hex(), '--key', self.KEY)
        self.good('proof', self.proof(extra=b''), '--row-hash', self.data[2].hex(), '--key', self.KEY)

    def test_an_altered_row(self):
        for name in ('actor', 'recorded_by', 'action', 'subject'):
            altered = {**self.rows[2], name: OTHER_VALUES['recorded_by'] if name == 'recorded_by' else 'somebody else'}
            self.bad('row_hash_mismatch', 'proof', self.proof(), '--entry', self.entry(altered), '--key', self.KEY)
            del altered['row_hash']
            self.bad('disproved', 'proof', self.proof(), '--entry', self.entry(altered), '--key', self.KEY)

    def test_another_row_another_place_another_tenant(self):
        self.bad('disproved', 'proof', self.proof(), '--row-hash', self.data[3].hex(), '--key', self.KEY)
        self.bad('disproved', 'proof', self.proof(), '--entry', self.entry(self.rows[3]), '--key', self.KEY)
        other = rehashed([{**row, 'tenant_id': OTHER_TENANT} for row in golden_rows()])
        self.bad('other_tenant', 'proof', self.proof(), '--entry', self.entry(other[2]), '--key', self.KEY)
        decisions = self.file(self.golden['logs'][1]['inclusion'][4]['text'])
        for entry in ({'seq': 1, 'decision': golden_decisions()[1]}, golden_decisions()[0]):
            self.bad('disproved', 'proof', decisions, '--entry', self.entry(entry), '--key', self.KEY)
        altered = {**golden_decisions()[1], 'allowed': True}
        self.bad('digest_mismatch', 'proof', decisions, '--entry', self.entry(altered), '--key', self.KEY)

    def test_a_proof_of_another_log_or_under_another_key(self):
        asked = ['--row-hash', self.data[2].hex()]
        self.bad('other_origin', 'proof', self.proof(), *asked, '--key', self.KEY, '--origin', f'countersign/{OTHER_TENANT}')
        self.bad('unknown_signer', 'proof', self.proof(), *asked, '--key', self.STRANGERS_KEY)
        foreign = self.proof(signed=checkpoint('example.com/log', self.data))
        self.good('proof', foreign, *asked, '--key', self.KEY)  # a valid proof of the log that the output names
        self.bad('other_origin', 'proof', foreign, '--entry', self.entry(self.rows[2]), '--key', self.KEY)

    def test_a_bent_proof(self):
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
                self.bad(code, 'proof', self.file(text), '--row-hash', self.data[2].hex(), '--key', self.KEY)
        self.bad('bad_utf8', 'proof', self.file(b'\xff'), '--row-hash', self.data[2].hex(), '--key', self.KEY)

    def test_entries_that_are_none(self):
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
                self.bad(code, 'proof', self.proof(), '--entry', self.file(entry), '--key', self.KEY)
        self.unusable('proof', self.proof(), '--row-hash', 'xyz', '--key', self.KEY)


class ConsistencyProofs(Asking):
    def setUp(self):
        super().setUp()
        self.golden = vectors('checkpoints.json')
        self.data = tree_data(golden_rows())
        self.notes = self.golden['logs'][0]['checkpoints']
        self.document = consistency_document('audit', 3, self.data, self.notes[6])
        self.first = self.file(self.notes[3])

    def judged(self, code, kept=None, key=None, **changes):
        path = self.file(json.dumps({**self.document, **changes}))
        return self.bad(code, 'consistency', path, '--first', kept or self.first, '--key', key or self.KEY)

    def test_every_golden_proof_proves_growth(self):
        for log in self.golden['logs']:
            kept = [self.file(text) for text in log['checkpoints']]
            for case in log['consistency']:
                path = self.file(json.dumps(case), 'proof')
                said = self.good('consistency', path, '--first', kept[case['first']], '--key', self.KEY)
                self.assertEqual((said['first'], said['second'], said['origin']), (case['first'], case['second'], log['origin']))

    def test_from_the_head_of_a_ci_log(self):
        document = consistency_document('audit', 6, self.data, self.notes[6])
        self.good('consistency', self.file(json.dumps(document)), '--head', self.golden['header'], '--key', self.KEY)
        forged = self.golden['header'].replace('IDJ0', 'IDJ1')
        self.bad('fork', 'consistency', self.file(json.dumps(document)), '--head', forged, '--key', self.KEY)

    def test_a_log_that_was_rewritten(self):
        rows = golden_rows()
        rows[1]['subject'] = 'rewritten'
        data = tree_data(rehashed(rows))
        signed = checkpoint(self.ORIGIN, data)
        self.judged('disproved', **consistency_document('audit', 3, data, signed))
        whole = consistency_document('audit', 6, data, signed)
        self.judged('fork', self.file(self.notes[6]), **whole)

    def test_a_bent_proof(self):
        hashes = self.document['hashes']
        self.judged('disproved', hashes=hashes[::-1])
        self.judged('disproved', hashes=hashes[:-1])
        self.judged('disproved', hashes=[])
        self.judged('disproved', hashes=[*hashes, hashes[0]])
        self.judged('bad_proof', hashes=hashes * 100)
        self.judged('bad_proof', hashes=['AAAA'])
        self.judged('bad_proof', hashes=[7])
        self.judged('bad_proof', hashes=None)
        self.judged('bad_proof', second=7)
        self.judged('bad_proof', second=True)
        self.judged('bad_proof', first='3')
        self.judged('bad_proof', first=3.5)
        self.judged('other_size', first=4)
        self.judged('bad_proof', log='decisions')
        self.judged('bad_proof', log=self.ORIGIN)
        self.judged('bad_note', checkpoint='')
        self.judged('lone_surrogate', checkpoint='\ud800')
        self.judged('signature_mismatch', checkpoint=self.notes[6].replace('\n6\n', '\n7\n'))

    def test_another_key_another_log_another_size(self):
        self.judged('unknown_signer', key=self.STRANGERS_KEY)
        self.judged('unknown_signer', self.file(checkpoint(self.ORIGIN, self.data[:3], SEEDS['stranger'])))
        self.judged('other_origin', self.file(checkpoint(f'countersign/{OTHER_TENANT}', self.data[:3])))
        self.judged('other_size', self.file(self.notes[2]))
        self.judged('bad_note', self.file(b'nonsense'))

    def test_a_kept_checkpoint_larger_than_the_log_of_today(self):
        document = {**consistency_document('audit', 3, self.data[:4], self.notes[4]), 'first': 6}
        self.judged('disproved', self.file(self.notes[6]), **document)

    def test_documents_that_are_none(self):
        for data, code in ((b'', 'bad_json'), (b'[]', 'bad_proof'), (b'{}', 'bad_proof'), (b'\xff', 'bad_utf8'), (b'{"a":1,"a":1}', 'duplicate_member')):
            self.bad(code, 'consistency', self.file(data), '--first', self.first, '--key', self.KEY)


class Attestations(Asking):
    def setUp(self):
        super().setUp()
        self.golden = vectors('attestation.json')
        self.responses = golden_decisions()
        self.payload = jcs.canonicalize(attestation.statement(self.responses[0]))

    def judged(self, code, held, key=None):
        path = self.file(held if isinstance(held, bytes) else json.dumps(held))
        return self.bad(code, 'attestation', path, '--key', key or self.KEY)

    def test_the_pre_authentication_encoding_is_that_of_the_specification(self):
        encoded = attestation.pre_authentication_encoding('http://example.com/HelloWorld', b'hello world')
        self.assertEqual(encoded, b'DSSEv1 29 http://example.com/HelloWorld 11 hello world')

    def test_every_golden_attestation_is_valid(self):
        for case in self.golden['cases']:
            path = self.file(json.dumps(case['envelope'], indent=2))
            said = self.good('attestation', path, '--key', self.KEY)
            expected = {name: case['response'][name] for name in ('allowed', 'decision_id', 'response_sha256')}
            self.assertEqual({name: said[name] for name in expected}, expected)
            self.good('attestation', path, '--key', self.file(json.dumps(self.golden['jwks'])))
            both = self.file(json.dumps(case['envelope_while_rotating']))
            for key in (self.KEY, self.SECOND_KEY):
                self.assertEqual(len(self.good('attestation', both, '--key', key)['signed_by']), 1)
            self.assertEqual(len(self.good('attestation', both, '--key', self.KEY, '--key', self.SECOND_KEY)['signed_by']), 2)
            self.judged('unknown_signer', case['envelope_while_rotating'], self.STRANGERS_KEY)

    def test_every_envelope_that_must_be_refused_is(self):
        for case in self.golden['refused']:
            with self.subTest(case['what']):
                self.judged(case['code'], case['envelope'])

    def test_base64url_is_another_spelling_and_refused(self):
        held = envelope(self.payload, SEEDS['first'])
        held['payload'] = held['payload'].replace('+', '-').replace('/', '_')
        held['signatures'][0]['sig'] = held['signatures'][0]['sig'].replace('+', '-').replace('/', '_')
        self.bad('bad_envelope', 'attestation', self.file(json.dumps(held)), '--key', self.KEY)

    def test_a_signature_that_does_not_hold_beside_one_that_does(self):
        held = envelope(self.payload, SEEDS['second'], SEEDS['first'])
        held['signatures'][0]['sig'] = held['signatures'][1]['sig']
        said = self.good('attestation', self.file(json.dumps(held)), '--key', self.KEY, '--key', self.SECOND_KEY)
        self.assertEqual([key['verifier_key'] for key in said['signed_by']], [self.KEY])

    def test_every_bit_of_the_payload_counts(self):
        chance, held = random.Random(2026), envelope(self.payload, SEEDS['first'])
        for _ in range(40):
            bent = bytearray(self.payload)
            bent[chance.randrange(len(bent))] ^= 1 << chance.randrange(8)
            self.judged('signature_mismatch', {**held, 'payload': note.to_base64(bytes(bent))})

    def test_a_key_that_had_ended_before_the_decision(self):
        key = {**proof_vectors.jwk(SEEDS['first']), 'retired_at': self.responses[0]['timestamp']}
        held = self.file(json.dumps(envelope(self.payload, SEEDS['first'])))
        said = self.good('attestation', held, '--key', self.file(json.dumps({'keys': [key]})))
        self.assertEqual(said['signed_by'][0]['retired_at'], key['retired_at'])
        earlier = {**key, 'retired_at': '2026-11-20T11:59:59.999Z'}
        ended = self.file(json.dumps({'keys': [earlier, proof_vectors.jwk(SEEDS['second'])]}))
        self.bad('key_retired', 'attestation', held, '--key', ended)
        both = self.file(json.dumps(envelope(self.payload, SEEDS['first'], SEEDS['second'])))
        self.assertEqual([signer.get('retired_at') for signer in self.good('attestation', both, '--key', ended)['signed_by']], [None])

    def test_envelopes_that_are_none(self):
        held = envelope(self.payload, SEEDS['first'])
        (signature,) = held['signatures']
        for changed, code in (
            (b'', 'bad_json'),
            (b'\xff', 'bad_utf8'),
            (b'[]', 'not_an_object'),
            (b'{}', 'unknown_payload_type'),
            (json.dumps(held).encode().replace(b'{', b'{"payload":"",', 1), 'duplicate_member'),
            ({**held, 'payload': '?'}, 'bad_envelope'),
            ({**held, 'payload': None}, 'bad_envelope'),
            ({**held, 'signatures': {}}, 'bad_envelope'),
            ({**held, 'signatures': [7]}, 'bad_envelope'),
            ({**held, 'signatures': [{**signature, 'sig': '?'}]}, 'bad_envelope'),
            ({**held, 'signatures': [signature] * 1000}, 'bad_envelope'),
            ({**held, 'signatures': [{**signature, 'sig': ''}]}, 'signature_mismatch'),
            ({**held, 'signatures': [{**signature, 'keyid': 7}]}, 'bad_envelope'),
        ):
            with self.subTest(code=code):
                self.judged(code, changed)

    def test_payloads_that_are_no_statement_even_under_a_good_signature(self):
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
                self.judged(code, envelope(payload, SEEDS['first']))

    def test_the_decision_of_another_tenant_is_told_by_its_members(self):
        # An attestation names no tenant: docs/formats.md says so, and what to compare.
        self.assertNotIn(TENANT, self.payload.decode('utf-8'))


if __name__ == '__main__':
    unittest.main()
