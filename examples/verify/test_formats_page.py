"""Tests that the examples of docs/formats.md are correct, and that the golden vectors are what the generator writes."""

import sys

sys.dont_write_bytecode = True

import base64
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import attestation
import decision
import evidence
import evidence_events
import jcs
import key_events
import ledger
import make_vectors
import decision_vectors
import vector_values
import merkle
import note
import trace_events
import tree_heads
from golden import FORMATS_PAGE, vectors


class GoldenVectors(unittest.TestCase):
    def test_the_committed_files_match_the_generator(self):
        for name, data in make_vectors.files().items():
            self.assertEqual((make_vectors.VECTORS / name).read_bytes(), data, f'{name}: run make_vectors.py')

    def test_every_file_names_its_origin(self):
        for path in sorted(make_vectors.VECTORS.glob('*.json')):
            self.assertIn('origin', json.loads(path.read_text('utf-8')), path.name)


class FormatsPage(unittest.TestCase):
    def setUp(self):
        self.page = FORMATS_PAGE.read_text('utf-8')

    def blocks(self, marker):
        """The fenced blocks right after the comment <!-- marker -->."""
        return re.findall(rf'<!-- {marker} -->\n+```\w*\n(.*?)```', self.page, re.S)

    def test_the_row_has_the_stated_hash(self):
        (line,) = self.blocks('vector: row')
        (canonical,) = self.blocks('vector: canonical row')
        row = jcs.read(line)
        entry = {name: value for name, value in row.items() if name != 'row_hash'}
        self.assertEqual(jcs.canonicalize(entry).decode('utf-8'), canonical.rstrip('\n'))
        self.assertEqual(ledger.verify(io.BytesIO(line.encode('utf-8'))).head, row['row_hash'])

    def test_the_decision_is_valid_under_the_key(self):
        (decision_text,) = self.blocks('vector: decision')
        (key,) = re.findall(r'`K` is `([0-9a-f]{64})`', self.page)
        response = decision.verify(decision_text.encode('utf-8'), bytes.fromhex(key))
        self.assertEqual(response, vectors('decision.json')['cases'][0]['response'])
        self.assertEqual(decision.decision_key(vector_values.MASTER_SECRET, vector_values.TENANT, 'dk-1').hex(), key)

    def test_the_decision_follows_from_the_evidence(self):
        (decision_text,), (canonical,) = self.blocks('vector: decision with evidence'), self.blocks('vector: evidence')
        golden = vectors('evidence.json')
        response = decision.verify(decision_text.encode('utf-8'), bytes.fromhex(golden['decision_key_hex']))
        self.assertEqual((response, canonical.rstrip('\n')), (golden['cases'][12]['response'], golden['cases'][12]['evidence']))
        document = evidence.check(response, canonical.encode('utf-8'))
        self.assertIn(f'is `{response["evidence_sha256"]}`', self.page)
        rows = re.findall(r'^\| `(\w+)` \|', self.section('Evidence').partition('All members except')[0], re.M)
        self.assertEqual(set(rows), set(document))

    def test_the_ingestion_key_has_the_stated_digest(self):
        ((prefix, secret),) = re.findall(r'`aa_live_([0-9a-f]{12})\.([A-Za-z0-9_-]{43})`', self.page)
        self.assertEqual(len(base64.urlsafe_b64decode(secret + '=')), 32)
        self.assertIn(hashlib.sha256(secret.encode('ascii')).hexdigest(), self.page)

    def test_the_seals_match_the_vectors(self):
        for name, case in (('head seal', 1), ('row seal', 3)):
            (seal,) = self.blocks('vector: ' + name)
            self.assertEqual(seal.strip(), vectors(name.replace(' ', '-') + 's.json')['cases'][case]['seal'])

    def test_the_succession_matches_the_vectors(self):
        golden = vectors('signing-key-succession.json')
        (text,), (members,) = self.blocks('vector: succession message'), self.blocks('vector: succession')
        self.assertEqual('countersign/signing-key-successor/v1\n' + text.strip(), golden['message'])
        members = json.loads(members)
        self.assertEqual(members, {name: golden['successor'][name] for name in members})

    def test_the_tree_has_the_stated_roots(self):
        (table,) = re.findall(r'<!-- vector: tree -->\n((?:\|.*\n)+)', self.page)
        tree = merkle.Tree()
        for size, line in enumerate(table.splitlines()[2:]):
            hashes = re.findall('`([0-9a-f]{64})`', line)
            if size > 0:
                self.assertEqual(hashes[0], vectors('audit-chain.json')['entries'][size - 1]['row_hash'])
                self.assertEqual(merkle.leaf_hash(bytes.fromhex(hashes[0])).hex(), hashes[1])
                tree.append(bytes.fromhex(hashes[0]))
            self.assertEqual((tree.size, tree.root().hex()), (size, hashes[-1]))
        self.assertEqual(tree.size, 3)

    def test_the_key_event_has_the_stated_leaf_data(self):
        (canonical,) = self.blocks('vector: key event')
        event = jcs.read(canonical)
        self.assertEqual(jcs.canonicalize(event).decode('utf-8'), canonical.rstrip('\n'))
        self.assertIn(f'`{key_events.leaf_data(event).hex()}`', self.page)
        self.assertEqual(event, vectors('checkpoints.json')['key_events'][0]['event'])
        named = set(re.findall(r'`(\w+)`', self.section('Key event').partition('```')[0])) - {'live', 'read'}
        self.assertEqual(named, {*key_events.MEMBERS})

    def test_the_evidence_event_has_the_stated_leaf_data(self):
        (canonical,) = self.blocks('vector: evidence event')
        event = jcs.read(canonical)
        self.assertEqual(jcs.canonicalize(event).decode('utf-8'), canonical.rstrip('\n'))
        self.assertIn(f'`{evidence_events.leaf_data(event).hex()}`', self.page)
        self.assertEqual(event, vectors('evidence-events.json')['events'][1]['event'])
        rows = dict(re.findall(r'^\| `([a-z_.]+)` \| (.*) \|$', self.section('Evidence event'), re.M))
        self.assertEqual({name for name in rows if '.' in name}, {*evidence_events.MEMBERS})
        self.assertEqual({name for name in rows if '.' not in name}, {*evidence_events.COMMON})
        for action, members in evidence_events.MEMBERS.items():
            for member in members:
                self.assertIn(f'`{member}`', rows[action])

    def test_the_trace_event_has_the_stated_leaf_data(self):
        (canonical,) = self.blocks('vector: trace event')
        event = jcs.read(canonical)
        self.assertEqual(jcs.canonicalize(event).decode('utf-8'), canonical.rstrip('\n'))
        self.assertIn(f'`{trace_events.leaf_data(event).hex()}`', self.page)
        self.assertEqual(event, vectors('trace-events.json')['events'][0]['event'])
        rows = re.findall(r'^\| ((?:`\w+`(?:, )?)+) \|', self.section('Trace event'), re.M)
        named = {name for row in rows for name in re.findall(r'`(\w+)`', row)}
        self.assertEqual(named, {*trace_events.RECORDED, *trace_events.DROPPED, *trace_events.SUBMISSION})

    def test_the_keys_checkpoint_header_and_proofs_match_the_vectors(self):
        golden = vectors('checkpoints.json')
        (vkey,), (jwk,) = self.blocks('vector: vkey'), self.blocks('vector: jwk')
        self.assertEqual((vkey.strip(), json.loads(jwk)), (golden['keys'][0]['note_key'], golden['keys'][0]['jwk']))
        keys = note.read_keys(vkey.encode('utf-8'))
        self.assertEqual(keys, note.read_keys(json.dumps({'keys': [json.loads(jwk)]}).encode()))
        audit = golden['logs'][0]
        (checkpoint,) = self.blocks('vector: checkpoint')
        self.assertEqual(checkpoint, audit['checkpoints'][3])
        self.assertEqual(note.read_checkpoint(checkpoint.encode('utf-8'), keys).size, 3)
        (header,) = self.blocks('vector: header')
        self.assertEqual(tree_heads.read_heads(header), tree_heads.read_heads(golden['header']))
        (inclusion,) = self.blocks('vector: inclusion')
        self.assertIn(inclusion, [case['text'] for case in audit['inclusion']])
        (consistency,) = self.blocks('vector: consistency')
        self.assertIn(json.loads(consistency), audit['consistency'])

    def test_the_attestation_is_a_signature_of_the_decision(self):
        (decided,), (signature,) = self.blocks('vector: decision'), self.blocks('vector: attestation')
        payload = jcs.canonicalize(attestation.statement(jcs.read(decided)))
        self.assertIn(f'({len(payload)} bytes of payload)', self.page)
        envelope = vectors('attestation.json')['cases'][0]['envelope']
        self.assertEqual(envelope, {**envelope, 'payload': note.to_base64(payload), 'signatures': [json.loads(signature)]})
        (vkey,) = self.blocks('vector: vkey')
        attestation.verify(json.dumps(envelope).encode('ascii'), note.read_keys(vkey.encode('utf-8')))

    def test_the_page_links_only_to_existing_sections(self):
        headings = {re.sub('[^a-z0-9 -]', '', heading.lower()).replace(' ', '-') for heading in re.findall('^#+ (.*)$', self.page, re.M)}
        self.assertLessEqual(set(re.findall(r'\]\(#([^)]*)\)', self.page)), headings)

    def section(self, heading):
        return self.page.partition(f'\n## {heading}\n')[2].partition('\n## ')[0]

    @unittest.skipUnless(shutil.which('jq') and shutil.which('openssl') and shutil.which('sh'), 'needs jq, openssl and sh')
    def test_the_recipe_with_jq_and_openssl_accepts_only_genuine_allowed_decisions(self):
        (recipe,) = self.blocks('recipe')
        golden = vectors('decision.json')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'decision.json'

            def response_with_rate(rate):
                evaluation = {**decision_vectors.ALLOWED['evaluation'], 'pass_rate': rate, 'agent_name': 'support-bot'}
                return decision_vectors.decision_response({**decision_vectors.ALLOWED, 'actual_threshold': rate, 'evaluation': evaluation})

            def run_recipe(response, key):
                path.write_text(json.dumps(response, ensure_ascii=False), 'utf-8')
                environment = {'PATH': os.environ['PATH'], 'COUNTERSIGN_DECISION_KEY': key}
                return subprocess.run(['sh', '-c', recipe], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

            for case in golden['cases']:
                process = run_recipe(case['response'], case['decision_key_hex'])
                self.assertEqual(process.returncode, 0 if case['D']['allowed'] else 1, process)
                self.assertIn(case['D']['reason'].encode(), process.stdout)
                self.assertNotIn(case['D']['reason'].encode(), run_recipe(case['response'], '0' * 64).stdout)
                altered = {**case['response'], 'allowed': True, 'message': 'altered'}
                process = run_recipe(altered, case['decision_key_hex'])
                self.assertEqual((process.returncode, process.stdout), (1, b''), process)
            key = golden['cases'][0]['decision_key_hex']
            for rate in (33.333333333333336, 0.0001):
                self.assertEqual(run_recipe(response_with_rate(rate), key).returncode, 0, rate)
            # Versions of jq print this rate differently. The recipe may reject the genuine decision, but must never accept an altered one.
            self.assertIn(run_recipe(response_with_rate(0.00001), key).returncode, (0, 1))
            self.assertEqual(run_recipe({**response_with_rate(0.00001), 'actual_threshold': 99}, key).returncode, 1)
            self.assertEqual(run_recipe({'error': 'unauthorized', 'issues': []}, '0' * 64).returncode, 1)
            self.assertEqual(run_recipe({}, '').returncode, 1)


if __name__ == '__main__':
    unittest.main()
