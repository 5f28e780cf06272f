"""Tests of evidence documents and of the verdicts that follow from them."""

import sys

sys.dont_write_bytecode = True

import copy
import hashlib
import json
import pathlib
import tempfile
import unittest

import decision
import evidence
from forked import run_forked
from golden import vectors
from verdict import Invalid


class Evidence(unittest.TestCase):
    def setUp(self):
        self.golden = vectors('evidence.json')

    def assert_invalid(self, response, data, code):
        with self.assertRaises(Invalid) as found:
            evidence.check(response, data)
        self.assertEqual([code], [each for each, _ in found.exception.problems], str(found.exception))

    def test_every_golden_decision_follows_from_its_evidence(self):
        reasons = set()
        for case in self.golden['cases']:
            decision.verify(json.dumps(case['response']).encode(), bytes.fromhex(self.golden['decision_key_hex']))
            evidence.check(case['response'], case['evidence'].encode('utf-8'))
            evidence.check(case['response'], case['evidence'].encode('utf-8') + b'\n')
            reasons.add(case['response']['reason'])
        self.assertEqual(reasons, set(evidence.EVENTS))

    def test_altered_evidence_and_evidence_of_another_decision_are_invalid(self):
        first, second = self.golden['cases'][:2]
        self.assert_invalid(first['response'], second['evidence'].encode(), 'evidence_mismatch')
        self.assert_invalid(first['response'], first['evidence'].replace('97.5', '98.5').encode(), 'evidence_mismatch')
        older = {name: value for name, value in first['response'].items() if name != 'evidence_sha256'}
        self.assert_invalid(older, first['evidence'].encode(), 'no_evidence_named')

    def test_a_verdict_that_does_not_follow_from_the_evidence_is_invalid(self):
        for case in self.golden['cases']:
            for name in evidence.verdict(json.loads(case['evidence'])):
                response = copy.deepcopy(case['response'])
                response[name] = [{}] if name == 'checks' else 'changed'
                with self.subTest(name):
                    self.assert_invalid(response, case['evidence'].encode('utf-8'), 'verdict_mismatch')

    def test_a_request_stated_in_a_decision_must_match_the_evidence(self):
        cases_with_request = [case for case in self.golden['cases'] if 'harness_id' in case['response']]
        self.assertEqual(len(cases_with_request), 4)
        for case in cases_with_request:
            data = case['evidence'].encode('utf-8')
            for name, other in (('harness_id', '0190d9a2-7c1e-7d6b-9f5a-1c2d3e4f5a6b'), ('max_age_hours', 24), ('max_age_hours', '72')):
                self.assert_invalid({**case['response'], name: other}, data, 'verdict_mismatch')
                without = {each: value for each, value in case['response'].items() if each != name}
                self.assert_invalid(without, data, 'verdict_mismatch')

    def test_evidence_of_another_version_or_form_is_invalid(self):
        case = self.golden['cases'][0]
        for text, code in (
            (case['evidence'].replace('"version":1', '"version":2'), 'unknown_evidence'),
            (case['evidence'].replace('{"agent"', '{ "agent"'), 'not_canonical'),
            (case['evidence'].replace('"open_recertifications":0,', ''), 'bad_evidence'),
            (case['evidence'].replace('"open_recertifications":0,', '"open_recertifications":false,'), 'bad_evidence'),
            (case['evidence'].replace('"similar_names":[],', ''), 'bad_evidence'),
            (case['evidence'].replace('"tenant_id"', '"tenant":"x","tenant_id"'), 'bad_evidence'),
            (case['evidence'].replace('"risk_level"', '"risk":1,"risk_level"'), 'bad_evidence'),
            (case['evidence'].replace('"read_at":"2', '"read_at":"\u0662'), 'bad_evidence'),
            (case['evidence'].replace('"version":1', '"version":true'), 'unknown_evidence'),
            ('[]', 'unknown_evidence'),
        ):
            digest = hashlib.sha256(text.encode()).hexdigest()
            self.assert_invalid({**case['response'], 'evidence_sha256': digest}, text.encode(), code)

    def test_the_command_line_checks_evidence(self):
        case = self.golden['cases'][0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / 'decision.json').write_text(json.dumps(case['response']), 'utf-8')
            for text, code, expected_text in ((case['evidence'], 0, 'gives this verdict'), ('{}', 1, 'hashes to')):
                (path / 'evidence.json').write_text(text, 'utf-8')
                arguments = ['decision', 'decision.json', '--evidence', 'evidence.json', '--key', self.golden['decision_key_hex']]
                process = run_forked(arguments, folder=folder)
                self.assertEqual((process.returncode, expected_text in process.stdout.decode()), (code, True), process.stdout)


if __name__ == '__main__':
    unittest.main()
