"""Tests of the HMAC of decisions and of its keys."""

import sys

sys.dont_write_bytecode = True

import hashlib
import hmac
import json
import unittest

import decision
from golden import OTHER_VALUES, vectors


class Keys(unittest.TestCase):
    def test_hkdf_matches_rfc_5869(self):
        for case in vectors('hkdf-rfc5869.json')['cases']:
            with self.subTest(case['name']):
                ikm, salt, info = (bytes.fromhex(case[part]) for part in ('ikm', 'salt', 'info'))
                self.assertEqual(decision.hkdf_sha256(ikm, salt, info, case['length']).hex(), case['okm'])

    def test_hmac_matches_rfc_4231(self):
        for case in vectors('hmac-rfc4231.json')['cases']:
            with self.subTest(case['name']):
                key, data = bytes.fromhex(case['key']), bytes.fromhex(case['data'])
                self.assertEqual(hmac.new(key, data, hashlib.sha256).hexdigest(), case['hmac_sha256'])

    def test_each_tenant_and_each_key_id_has_its_own_key(self):
        secret = bytes(32)
        keys = {decision.decision_key(secret, tenant, key_id) for tenant in ('t1', 't2') for key_id in ('a', 'b')}
        self.assertEqual(len(keys), 4)


class Decisions(unittest.TestCase):
    def setUp(self):
        self.golden = vectors('decision.json')

    def assert_invalid(self, response, key, *codes):
        data = response if isinstance(response, bytes) else json.dumps(response).encode('ascii')
        with self.assertRaises(decision.Invalid) as found:
            decision.verify(data, key)
        self.assertEqual(tuple(code for code, _ in found.exception.problems), codes, str(found.exception))

    def test_the_golden_decisions_are_valid_both_on_one_line_and_indented_with_sorted_members(self):
        for case in self.golden['cases']:
            key = bytes.fromhex(case['decision_key_hex'])
            for spelled in (
                json.dumps(case['response']),
                json.dumps(case['response'], indent=4, ensure_ascii=False, sort_keys=True) + '\n',
            ):
                self.assertEqual(decision.verify(spelled.encode('utf-8'), key), case['response'])

    def test_a_change_of_any_member_that_the_digest_covers_is_detected(self):
        for case in self.golden['cases']:
            key = bytes.fromhex(case['decision_key_hex'])
            for name, value in case['D'].items():
                altered = OTHER_VALUES.get(name, {bool: not value, str: f'{value}.'}.get(type(value), 'altered'))
                with self.subTest(name):
                    self.assert_invalid({**case['response'], name: altered}, key, 'digest_mismatch', 'signature_mismatch')
            self.assert_invalid({**case['response'], 'approved': True}, key, 'digest_mismatch', 'signature_mismatch')

    def test_a_changed_decision_with_a_recomputed_digest_is_invalid(self):
        case = self.golden['cases'][1]
        altered = {**case['response'], 'allowed': True}
        altered['response_sha256'] = decision.response_sha256(altered)
        self.assert_invalid(altered, bytes.fromhex(case['decision_key_hex']), 'signature_mismatch')

    def test_the_signature_of_another_decision_is_invalid(self):
        allowed, blocked = self.golden['cases'][:2]
        key = bytes.fromhex(blocked['decision_key_hex'])
        borrowed = {name: allowed['response'][name] for name in ('response_sha256', 'signature')}
        self.assert_invalid({**blocked['response'], 'allowed': True, **borrowed}, key, 'digest_mismatch', 'signature_mismatch')

    def test_another_key_is_rejected(self):
        case = self.golden['cases'][0]
        self.assert_invalid(case['response'], bytes(32), 'signature_mismatch')
        # The key of the tenant's other key_id.
        self.assert_invalid(case['response'], bytes.fromhex(self.golden['cases'][2]['decision_key_hex']), 'signature_mismatch')

    def test_a_response_that_is_not_a_signed_decision_is_invalid(self):
        case = self.golden['cases'][0]
        key = bytes.fromhex(case['decision_key_hex'])
        for name in decision.NEEDED_MEMBERS:
            self.assert_invalid({k: v for k, v in case['response'].items() if k != name}, key, 'missing_member')
            self.assert_invalid({**case['response'], name: 1}, key, 'wrong_form')
        self.assert_invalid({**case['response'], 'signature': case['response']['signature'].upper()}, key, 'wrong_form')
        self.assert_invalid({**case['response'], 'signature': 'ä' * 64}, key, 'wrong_form')
        self.assert_invalid({**case['response'], 'signature_alg': 'none'}, key, 'unknown_signature_alg')
        self.assert_invalid(b'{"error":"unauthorized","issues":[]}', key, *['missing_member'] * 8)
        self.assert_invalid(b'', key, 'bad_json')
        self.assert_invalid(b'\x80\x00', key, 'bad_utf8')
        self.assert_invalid(b'null', key, 'not_an_object')
        self.assert_invalid(b'[' * 200000, key, 'nested_too_deeply')
        text = json.dumps(case['response'])
        self.assert_invalid(text.replace('"allowed": true', '"allowed": true, "allowed": true').encode(), key, 'duplicate_member')
        self.assert_invalid(text.replace('97.5', '97.50000000000000000001').encode(), key, 'inexact_number')
        self.assert_invalid(text.replace('nightly', '\\udead').encode(), key, 'lone_surrogate')


if __name__ == '__main__':
    unittest.main()
