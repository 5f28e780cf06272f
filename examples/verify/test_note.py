"""Tests of signed notes, checkpoints, keys and tree heads in headers."""

import sys

sys.dont_write_bytecode = True

import json
import unittest

import merkle
import note
import proof_vectors
import tree_heads
from golden import vectors
from verdict import Invalid

FIRST, SECOND, STRANGER = (proof_vectors.SEEDS[what] for what in ('first', 'second', 'stranger'))


def key_of(seed, retired_at=None):
    return note.Key(proof_vectors.public_key(seed), proof_vectors.KEY_NAME, retired_at)


class RejectionTest(unittest.TestCase):
    def expect_rejected(self, code, check, *arguments):
        with self.assertRaises(Invalid) as found:
            check(*arguments)
        self.assertEqual([problem for problem, _ in found.exception.problems], [code], str(found.exception))
        str(found.exception).encode('ascii')  # text from a file is shown as ASCII


class Notes(RejectionTest):
    def test_only_the_published_key_verifies_the_published_note(self):
        published = vectors('signed-note.json')
        key = note.read_verifier_key(published['verifier_key'])
        self.assertEqual(note.verifier_key(key.name, key.public_key), published['verifier_key'])
        parsed = note.read_note(published['note'].encode('utf-8'))
        self.assertEqual(parsed.text, published['text'])
        self.assertEqual(note.verify_note(parsed, [key_of(FIRST), key]), [key])
        self.expect_rejected('unknown_signer', note.verify_note, parsed, [key_of(FIRST)])
        changed = note.read_note(published['note'].replace('cryptography', 'Cryptography').encode('utf-8'))
        self.expect_rejected('signature_mismatch', note.verify_note, changed, [key])

    def test_the_generator_makes_the_published_note(self):
        published = vectors('signed-note.json')
        seed = note.from_base64(published['signer_key'].split('+', 4)[4])[1:]
        self.assertEqual(proof_vectors.signed_note(published['text'], seed, name='PeterNeumann'), published['note'])

    def test_the_last_empty_line_ends_a_text_that_contains_empty_lines(self):
        text = 'one\n\n\n\u2014 not a signature\n\ntwo\n'
        parsed = note.read_note(proof_vectors.signed_note(text, FIRST).encode('utf-8'))
        self.assertEqual((parsed.text, len(note.verify_note(parsed, [key_of(FIRST)]))), (text, 1))

    def test_during_a_rotation_either_key_verifies_the_note(self):
        golden = vectors('checkpoints.json')
        data = golden['checkpoint_while_rotating'].encode('utf-8')
        for keys in ([FIRST], [SECOND], [SECOND, FIRST]):
            keys = [key_of(seed) for seed in keys]
            self.assertCountEqual(note.read_checkpoint(data, keys).signers, keys)
        self.expect_rejected('unknown_signer', note.read_checkpoint, data, [key_of(STRANGER)])

    def test_a_signature_of_an_unknown_key_is_ignored_even_with_a_known_name(self):
        text = 'x\n'
        posing = proof_vectors.signature_line(STRANGER, text)
        for signed in (posing + proof_vectors.signature_line(FIRST, text), proof_vectors.signature_line(FIRST, text) + posing):
            self.assertEqual(len(note.verify_note(note.read_note(f'{text}\n{signed}'.encode('utf-8')), [key_of(FIRST)])), 1)

    def test_16_signatures_are_read_and_1000_are_rejected(self):
        line = proof_vectors.signature_line(FIRST, 'x\n')
        self.assertEqual(len(note.read_note(f'x\n\n{line * 16}'.encode('utf-8')).signatures), 16)
        self.expect_rejected('bad_note', note.read_note, f'x\n\n{line * 1000}'.encode('utf-8'))

    def test_bytes_that_are_not_a_note_are_rejected(self):
        for data, code in (
            (b'', 'bad_note'),
            (b'\n', 'bad_note'),
            (b'\n\n', 'bad_note'),
            (b'x\n\n', 'bad_note'),
            (b'x\n\n\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94 name\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94  AAAAAAAAAAA=\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94 na+me AAAAAAAAAAA=\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94 na\xc2\xa0me AAAAAAAAAAA=\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94 name AAAAAA==\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94 name AAAAAAAAAAA\n', 'bad_note'),
            (b'x\n\n\xe2\x80\x94 name AAAAAAAAAAB=\n', 'bad_note'),
            (b'x\x00\n\n\xe2\x80\x94 name AAAAAAAAAAA=\n', 'bad_note'),
            (b'\xff\n\n\xe2\x80\x94 name AAAAAAAAAAA=\n', 'bad_utf8'),
            (b'x' * (note.NOTE_BYTES_MAX + 1), 'too_long'),
        ):
            with self.subTest(data[:40]):
                self.expect_rejected(code, note.read_note, data)


class Checkpoints(RejectionTest):
    def setUp(self):
        self.golden = vectors('checkpoints.json')

    def test_every_golden_checkpoint_is_read(self):
        for log in self.golden['logs']:
            for size, text in enumerate(log['checkpoints']):
                checkpoint = note.read_checkpoint(text.encode('utf-8'), [key_of(FIRST)])
                self.assertEqual((checkpoint.origin, checkpoint.size, checkpoint.root.hex()), (log['origin'], size, log['roots'][size]))

    def test_every_invalid_checkpoint_is_rejected(self):
        for case in self.golden['refused']:
            with self.subTest(case['what']):
                self.expect_rejected(case['code'], note.read_checkpoint, case['note'].encode('utf-8'), [key_of(FIRST)])

    def test_a_change_of_any_byte_of_a_checkpoint_is_detected(self):
        good = self.golden['logs'][0]['checkpoints'][6].encode('utf-8')
        for place in range(len(good)):
            for bit in (0, 5):
                changed = bytearray(good)
                changed[place] ^= 1 << bit
                with self.subTest(place=place, bit=bit), self.assertRaises(Invalid):
                    note.read_checkpoint(bytes(changed), [key_of(FIRST)])

    def test_the_published_checkpoint_of_the_specification_is_read(self):
        text = (
            'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\u2014 example.com/behind-the-sofa '
            'Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n'
        )  # https://c2sp.org/tlog-checkpoint, which does not publish the key
        checkpoint = note.read_checkpoint(text.encode('utf-8'))
        self.assertEqual((checkpoint.origin, checkpoint.size, checkpoint.root[:2]), ('example.com/behind-the-sofa', 20852163, b'\x0a\xc5'))


class Keys(RejectionTest):
    def test_the_thumbprint_matches_rfc_8037(self):
        # Appendix A.3, for the key of RFC 8032's TEST 1.
        self.assertEqual(note.thumbprint(proof_vectors.public_key(FIRST)), 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')

    def test_the_golden_keys_are_read_in_every_form(self):
        golden = vectors('checkpoints.json')
        for listed in golden['keys']:
            key = note.Key(bytes.fromhex(listed['public_key']), golden['key_name'], None)
            self.assertEqual(note.read_verifier_key(listed['note_key']), key)
            self.assertEqual(note.read_keys(f'\n{listed["note_key"]}\n'.encode()), [key])
            self.assertEqual(note.read_keys(json.dumps({'keys': [listed['jwk']]}, indent=1).encode()), [key])
        self.assertEqual(note.read_keys(json.dumps(golden['jwks_while_rotating']).encode()), [key_of(FIRST), key_of(SECOND)])
        after = note.read_keys(json.dumps(golden['jwks_after_rotating']).encode())
        self.assertEqual(after, [key_of(SECOND), key_of(FIRST, proof_vectors.RETIRED_AT)])

    def test_keys_of_other_kinds_in_a_jwks_are_ignored(self):
        jwk = proof_vectors.jwk(FIRST)
        others = [{'kty': 'EC', 'crv': 'P-256'}, {'kty': 'OKP', 'crv': 'X25519', 'x': 'AA'}, {}]
        self.assertEqual(note.read_keys(json.dumps({'keys': [*others, jwk]}).encode()), [key_of(FIRST)])
        self.expect_rejected('bad_key', note.read_keys, json.dumps({'keys': others}).encode())
        nameless = {name: jwk[name] for name in ('kty', 'crv', 'x')}
        self.assertEqual(note.read_keys(json.dumps({'keys': [nameless]}).encode()), [key_of(FIRST)._replace(name=None)])

    def test_invalid_keys_are_rejected(self):
        name, hexadecimal, encoded = proof_vectors.jwk(FIRST)['note_key'].split('+', 2)
        small = bytes.fromhex('01' + '00' * 31)
        for text in (
            '',
            '++',
            name,
            f'{name}+{hexadecimal}',
            f'+{hexadecimal}+{encoded}',
            f'a b+{hexadecimal}+{encoded}',
            f'{name}+{hexadecimal.upper()}x+{encoded}',
            f'{name}+00000000+{encoded}',
            f'{name}x+{hexadecimal}+{encoded}',
            f'{name}+{hexadecimal}+{encoded[:-4]}',
            f'{name}+{hexadecimal}+{note.to_base64(bytes([2]) + proof_vectors.public_key(FIRST))}',
            proof_vectors.jwk(FIRST)['note_key'].replace('A', 'B', 1),
            note.verifier_key(name, small),
            note.verifier_key(name, bytes.fromhex('02' + '00' * 31)),
            '\udcff+00000000+AAAA',
        ):
            with self.subTest(text):
                self.expect_rejected('bad_key', note.read_verifier_key, text)

    def test_an_inconsistent_or_malformed_jwks_is_rejected(self):
        jwk = proof_vectors.jwk(FIRST)
        for change in (
            {'x': jwk['x'] + '='},
            {'x': jwk['x'][:-1]},
            {'x': jwk['x'][:-1] + 'p'},
            {'x': 7},
            {'kid': 'somebody'},
            {'kid': None},
            {'note_key': proof_vectors.jwk(SECOND)['note_key']},
            {'note_key': None},
            {'retired_at': 'yesterday'},
            {'x': note.to_base64url(bytes(32)), 'kid': note.thumbprint(bytes(32)), 'note_key': jwk['note_key']},
        ):
            with self.subTest(change):
                self.expect_rejected('bad_key', note.read_keys, json.dumps({'keys': [{**jwk, **change}]}).encode())
        for data, code in (
            (b'', 'bad_key'),
            (b'{}', 'bad_key'),
            (b'{"keys":7}', 'bad_key'),
            (b'{"keys":[7]}', 'bad_key'),
            (b'{"keys":[]}', 'bad_key'),
            (b'{"keys":', 'bad_json'),
            (b'{"keys":[],"keys":[]}', 'duplicate_member'),
            (b'[]', 'bad_key'),
            (b'\xff', 'bad_utf8'),
            (b'{"keys":[{"kty":"OKP","crv":"Ed25519","note_key":"\\ud800+00000000+AAAA"}]}', 'lone_surrogate'),
            (b'{"a":' * 200000, 'nested_too_deeply'),
        ):
            with self.subTest(data[:40]):
                self.expect_rejected(code, note.read_keys, data)


class TreeHeads(RejectionTest):
    def test_the_golden_headers_are_read(self):
        golden = vectors('checkpoints.json')
        roots = {log['log']: [bytes.fromhex(root) for root in log['roots']] for log in golden['logs']}
        expected = {'audit': (6, roots['audit'][6]), 'decisions': (3, roots['decisions'][3])}
        self.assertEqual(tree_heads.read_heads(golden['header']), expected)
        self.assertEqual(tree_heads.read_heads(f'countersign-checkpoint: {golden["header"]}\r\n'), expected)
        empty = {'audit': (0, merkle.EMPTY_ROOT), 'decisions': (0, merkle.EMPTY_ROOT)}
        self.assertEqual(tree_heads.read_heads(golden['header_of_empty_logs']), empty)

    def test_parameters_in_another_order_and_unknown_ones_are_accepted(self):
        root = note.to_base64(bytes(32))
        text = f'audit; root=:{root}:;at="a, b;c\\"";size=7;signed;x=?1;y=-1.5;z=*token'
        self.assertEqual(tree_heads.read_heads(text), {'audit': (7, bytes(32))})

    def test_text_that_is_not_a_list_of_heads_is_rejected(self):
        root = f':{note.to_base64(bytes(32))}:'
        for text in (
            '',
            ',',
            'audit',
            'audit;size=7',
            f'audit;root={root}',
            f'audit;size=07;root={root}',
            f'audit;size=-7;root={root}',
            f'audit;size;root={root}',
            f'audit;size=7;root={root[:-1]}',
            f'audit;size=7;root={root[1:-1]}',
            'audit;size=7;root=:AAAA:',
            f'audit;size=0;root={root}',
            f'audit;size=7;root={root},',
            f'audit;size=7;root={root} decisions;size=7;root={root}',
            f'"audit";size=7;root={root}',
            'audit;size=7;root=:\u00e9:',
            'audit' + ';a' * 100000,
        ):
            with self.subTest(text[:60]):
                self.expect_rejected('bad_head', tree_heads.read_heads, text)


if __name__ == '__main__':
    unittest.main()
