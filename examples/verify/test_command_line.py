"""Tests of verify.py as a process."""

import sys

sys.dont_write_bytecode = True

import base64
import json
import pathlib
import random
import subprocess
import tempfile
import unittest

import attestation
import jcs
import proof_vectors
import vector_values
from forked import run_forked
from golden import golden_lines, golden_rows, vectors

HERE = pathlib.Path(__file__).resolve().parent
TENANT, OTHER_TENANT = vector_values.TENANT, vector_values.OTHER_TENANT


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, data, name='given'):
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def run_verifier(self, *arguments, stdin=b''):
        process = run_forked(arguments, stdin)
        for output in (process.stdout, process.stderr):
            self.assertNotIn(b'Traceback', output)
            output.decode('ascii')
            self.assertNotIn(b'\x1b', output)  # so text from a file cannot control the terminal
        return process

    def test_the_option_audit_with_an_invalid_export_or_another_log_gives_the_result_broken(self):
        hostile = HERE / 'hostile'
        for name in ('audit-extra-member.ndjson', 'keys-whole.ndjson'):
            process = self.run_verifier('decisions', str(hostile / 'decisions-whole.ndjson'), '--audit', str(hostile / name), '--json')
            self.assertEqual(process.returncode, 1)
            verdict = json.loads(process.stdout)
            self.assertEqual((verdict['result'], verdict['problems'][0]['code']), ('broken', 'audit_broken'))

    def test_a_ledger_gives_the_verdict_valid_broken_or_unusable(self):
        data = b'\n'.join(golden_lines()) + b'\n'
        process = self.run_verifier('ledger', self.file(data))
        self.assertEqual(process.returncode, 0)
        self.assertTrue(process.stdout.startswith(b'valid: 6 entries of tenant 3f1c2b7a-'), process.stdout)
        self.assertEqual(self.run_verifier('ledger', '-', stdin=data).stdout, process.stdout)
        self.assertEqual(self.run_verifier('ledger', '-').stdout, b'valid: 0 entries, the export is empty\n')
        tenant = vector_values.TENANT
        self.assertEqual(self.run_verifier('ledger', '-', '--tenant', tenant.upper(), stdin=data).returncode, 0)
        other = self.run_verifier('ledger', '-', '--tenant', tenant.replace('3', '4'), stdin=data)
        self.assertEqual(other.returncode, 1)

        process = self.run_verifier('ledger', '-', stdin=data.replace(b'agent.promoted', b'agent.demoted'))
        self.assertEqual(process.returncode, 1)
        self.assertTrue(process.stdout.startswith(b'broken at line 2 (seq 2): row_hash does not match'), process.stdout)
        self.assertEqual(len(process.stdout.splitlines()), 1)

        for arguments in (['ledger', str(self.folder / 'absent')], ['ledger', str(self.folder)], ['ledger', '-', '--tenant', 'x']):
            process = self.run_verifier(*arguments)
            self.assertEqual((process.returncode, process.stdout, len(process.stderr.splitlines())), (2, b'', 1), arguments)
        for arguments in ([], ['ledger'], ['nonsense'], ['decision', 'f'], ['ledger', '-', '--nonsense']):
            self.assertEqual(self.run_verifier(*arguments).returncode, 2, arguments)

    def test_json_output_names_the_result_and_the_first_invalid_row(self):
        data = b'\n'.join(golden_lines())
        output = json.loads(self.run_verifier('ledger', '--json', '-', stdin=data).stdout)
        self.assertEqual((output['result'], output['entries'], output['tenant_id']), ('ok', 6, vector_values.TENANT))
        self.assertEqual(output['head_row_hash'], golden_rows()[-1]['row_hash'])
        output = json.loads(self.run_verifier('ledger', '--json', '-', stdin=data.replace(b'4711', b'4712')).stdout)
        self.assertEqual((output['result'], output['first_bad']['line'], output['first_bad']['seq']), ('broken', 2, 2))
        self.assertEqual(output['first_bad']['problems'][0]['code'], 'row_hash_mismatch')
        output = json.loads(self.run_verifier('ledger', '--json', str(self.folder / 'absent')).stdout)
        self.assertEqual(output['result'], 'unusable')

    def test_a_decision_is_valid_only_with_its_key(self):
        for case in vectors('decision.json')['cases']:
            path = self.file(json.dumps(case['response']).encode('ascii'))
            process = self.run_verifier('decision', path, '--key', case['decision_key_hex'])
            self.assertEqual(process.returncode, 0, process.stdout)
            self.assertIn(b'ALLOWED' if case['D']['allowed'] else b'BLOCKED', process.stdout)
            key_file = self.file(case['decision_key_hex'].upper().encode() + b'\n', 'key')
            self.assertEqual(self.run_verifier('decision', path, '--key-file', key_file).returncode, 0)
            process = self.run_verifier('decision', path, '--key', '0' * 64)
            self.assertEqual((process.returncode, process.stdout[:8]), (1, b'invalid:'))
            output = json.loads(self.run_verifier('decision', '--json', path, '--key', '0' * 64).stdout)
            self.assertEqual([problem['code'] for problem in output['problems']], ['signature_mismatch'])
        self.assertEqual(self.run_verifier('decision', path, '--key', 'abc').returncode, 2)
        self.assertEqual(self.run_verifier('decision', '/dev/zero', '--key', '0' * 64).returncode, 1)

    def test_the_decision_key_is_derived_only_from_a_valid_master_secret(self):
        golden = vectors('decision.json')
        secret = self.file(golden['master_secret_base64'].encode() + b'\n')
        for case in golden['cases']:
            arguments = ['--master-secret-file', secret, '--tenant', golden['tenant_id'], '--key-id', case['key_id']]
            process = self.run_verifier('decision-key', *arguments)
            self.assertEqual((process.returncode, process.stdout.decode().strip()), (0, case['decision_key_hex']))
        for content in (b'', b'not base64', base64.b64encode(bytes(31)), bytes(32), b'A' * 100000):
            arguments = ['--master-secret-file', self.file(content), '--tenant', golden['tenant_id'], '--key-id', 'k']
            process = self.run_verifier('decision-key', *arguments)
            self.assertEqual((process.returncode, process.stdout), (2, b''))

    def test_the_output_lists_matched_checkpoints_or_names_the_mismatch(self):
        golden = vectors('checkpoints.json')
        key, notes = golden['keys'][0]['note_key'], golden['logs'][0]['checkpoints']
        data = b'\n'.join(golden_lines()) + b'\n'
        four, six = (self.file(notes[size].encode('utf-8'), f'kept-{size}') for size in (4, 6))
        both = ['--checkpoint', six, '--checkpoint', four, '--key', key]
        process = self.run_verifier('ledger', '-', *both, stdin=data)
        self.assertEqual(process.returncode, 0)
        output = f', root IDJ0qJDVQ1zs/VT2MPQi0rivrX3BPnVjypyYrhQfFpY=; 2 kept heads matched (sizes 4, 6), signed by {golden["key_name"]}\n'
        self.assertTrue(process.stdout.decode().endswith(output), process.stdout)
        self.assertIn(b'no signature checked', self.run_verifier('ledger', '-', '--checkpoint', six, stdin=data).stdout)

        process = self.run_verifier('ledger', '-', *both, stdin=b'\n'.join(golden_lines()[:5]))
        self.assertEqual(process.returncode, 1)
        output = f"broken: every line is valid; checkpoint '{six}' covers 6 rows, but the export ends after 5: the tail was cut off"
        self.assertTrue(process.stdout.decode().startswith(output), process.stdout)
        forged = self.run_verifier('ledger', '-', '--head', golden['header'].replace('IDJ0', 'IDJ1'), stdin=data)
        self.assertEqual((forged.returncode, len(forged.stdout.splitlines())), (1, 1))
        self.assertIn(b'the chain was rewritten, or this head is of another ledger', forged.stdout)

    def test_the_verdict_on_a_proof_or_attestation_says_what_it_proves(self):
        golden = vectors('checkpoints.json')
        key, log = golden['keys'][0]['note_key'], golden['logs'][0]
        proof = self.file(log['inclusion'][-1]['text'].encode('utf-8'), 'proof')
        process = self.run_verifier('proof', proof, '--row-hash', log['leaf_data'][5], '--key', key)
        self.assertEqual(process.returncode, 0, process)
        self.assertIn(f'is row 6 of {log["origin"]} at size 6, signed by'.encode(), process.stdout)
        self.assertEqual(self.run_verifier('proof', proof, '--row-hash', '0' * 64, '--key', key).stdout[:8], b'invalid:')
        self.assertEqual(self.run_verifier('proof', proof, '--key', key).returncode, 2)
        self.assertEqual(self.run_verifier('proof', proof, '--row-hash', '0' * 64).returncode, 2)

        grown = self.file(json.dumps(log['consistency'][-3]).encode('ascii'), 'grown')
        kept = self.file(log['checkpoints'][4].encode('utf-8'), 'kept')
        process = self.run_verifier('consistency', grown, '--first', kept, '--key', key)
        self.assertEqual((process.returncode, process.stdout[:22]), (0, b'valid: the 4 rows of c'), process)

        for case in vectors('attestation.json')['cases']:
            process = self.run_verifier('attestation', '-', '--key', key, stdin=json.dumps(case['envelope']).encode('ascii'))
            self.assertEqual(process.returncode, 0, process)
            self.assertIn(b'ALLOWED' if case['response']['allowed'] else b'BLOCKED', process.stdout)

    def test_a_trust_file_accepts_only_documents_of_its_tenant(self):
        golden = vectors('checkpoints.json')
        log, older = golden['logs'][0], vectors('attestation.json')['cases'][0]['envelope']
        proof = self.file(log['inclusion'][-1]['text'].encode('utf-8'), 'proof')
        grown = self.file(json.dumps(log['consistency'][-3]).encode('ascii'), 'grown')
        kept = self.file(log['checkpoints'][4].encode('utf-8'), 'kept')
        signed = vectors('evidence.json')['cases'][0]['response']
        envelope = proof_vectors.envelope(jcs.canonicalize(attestation.statement(signed)), proof_vectors.SEEDS['first'])
        trust = {'version': 1, 'workspace': {'id': TENANT, 'name': 'acme'}, 'keys': [golden['keys'][0]['jwk']]}
        own = self.file(json.dumps(trust).encode('ascii'), 'own.json')
        other = self.file(json.dumps({**trust, 'workspace': {'id': OTHER_TENANT, 'name': 'shop'}}).encode('ascii'), 'other.json')
        for arguments in (
            ('proof', proof, '--row-hash', log['leaf_data'][5]),
            ('consistency', grown, '--first', kept),
            ('attestation', self.file(json.dumps(envelope).encode('ascii'), 'named')),
        ):
            with self.subTest(arguments[0]):
                self.assertEqual(self.run_verifier(*arguments, '--key', own).returncode, 0)
                process = self.run_verifier(*arguments, '--key', other)
                self.assertEqual(process.returncode, 1, process)
                self.assertIn(f'the trust file is of the tenant {OTHER_TENANT}'.encode(), process.stdout)
        process = self.run_verifier('attestation', '-', '--key', own, stdin=json.dumps(older).encode('ascii'))
        self.assertIn(b'the decision names no tenant', process.stdout)
        data = b'\n'.join(golden_lines()) + b'\n'
        export = ('ledger', '-', '--checkpoint', kept)
        self.assertEqual(self.run_verifier(*export, '--key', own, stdin=data).returncode, 0)
        self.assertEqual(self.run_verifier(*export, '--key', other, stdin=data).returncode, 1)
        self.assertEqual(self.run_verifier(*export, '--key', other, '--tenant', TENANT, stdin=data).returncode, 2)
        self.assertEqual(self.run_verifier(*export, '--key', own, '--key', other, stdin=data).returncode, 2)

    def test_hostile_input_gives_a_verdict_of_one_line(self):
        golden = vectors('checkpoints.json')
        key, log = golden['keys'][0]['note_key'], golden['logs'][0]
        kept = self.file(log['checkpoints'][4].encode('utf-8'), 'kept')
        commands = {
            ('proof', '-', '--row-hash', log['leaf_data'][5], '--key', key): log['inclusion'][-1]['text'].encode('utf-8'),
            ('proof', kept, '--entry', '-', '--key', key): golden_lines()[0],
            ('consistency', '-', '--first', kept, '--key', key): json.dumps(log['consistency'][-3]).encode('ascii'),
            ('consistency', kept, '--first', '-', '--key', key): log['checkpoints'][4].encode('utf-8'),
            ('attestation', '-', '--key', key): json.dumps(vectors('attestation.json')['cases'][0]['envelope']).encode('ascii'),
            ('ledger', kept, '--checkpoint', '-', '--key', key): log['checkpoints'][4].encode('utf-8'),
            ('decisions', '-', '--checkpoint', kept, '--key', key): b'{"seq":1,"decision":{}}',
            ('keys', '-'): json.dumps(golden['key_events'][0]['event']).encode('ascii'),
        }
        chance = random.Random(2026)
        for command, good in commands.items():
            inputs = [b'', b'\x00' * 1000, b'[' * 10**6, b'{"a":' * 10**5, b'\x1b[2J\n\n\xe2\x80\x94 \x1b[2J AAAA\n', b'9' * 10**6]
            inputs += [good[: len(good) // 2], good * 2, bytes(chance.getrandbits(8) for _ in range(5000)), good.replace(b'\n', b'\r\n')]
            for _ in range(3):
                altered = bytearray(good)
                altered[chance.randrange(len(altered))] ^= 1 << chance.randrange(8)
                inputs.append(bytes(altered))
            for data in filter(lambda data: data != good, inputs):
                with self.subTest(command[0], data=data[:40]):
                    process = self.run_verifier(*command, stdin=data)
                    self.assertIn(process.returncode, (0, 1) if command[0] in ('decisions', 'keys') else (1,), process)
                    self.assertEqual(len(process.stdout.splitlines()), 1)

    def test_malformed_input_is_invalid_and_gives_no_stack_trace(self):
        chance = random.Random(2026)
        good = b'\n'.join(golden_lines())
        inputs = [bytes(chance.getrandbits(8) for _ in range(5000)), good[: len(good) // 2], b'\n' * 10, b'\x00' * 1000, b'[' * 10**6]
        inputs += [b'{"seq":1e999999999999}', b'{"\\u001b[31m":"\x1b[31m"}', b'"' + b'a' * 10**6, b'9' * 10**6, b'1e' + b'9' * 10**6]
        inputs += [golden_lines()[0].replace(b'"actor"', b'"\\u001b[2J\xe2\x80\xae"'), b'{"version":"\\u001b[2J"}']
        inputs.append(good.replace(b'\n', b'\x00'))
        for _ in range(10):
            altered = bytearray(good)
            altered[chance.randrange(len(altered))] ^= 1 << chance.randrange(8)
            inputs.append(bytes(altered))
        for data in inputs:
            with self.subTest(data[:40]):
                process = self.run_verifier('ledger', '-', stdin=data)
                self.assertEqual(process.returncode, 1, process)
                self.assertEqual(len(process.stdout.splitlines()), 1)
                self.assertEqual(self.run_verifier('decision', '-', '--key', '0' * 64, stdin=data).returncode, 1)

    def test_a_line_of_100_megabytes_is_rejected(self):
        path = self.folder / 'long'
        with open(path, 'wb') as stream:
            for _ in range(100):
                stream.write(b'x' * 1024 * 1024)
        process = self.run_verifier('ledger', str(path))
        self.assertEqual(process.returncode, 1)
        self.assertIn(b'line 1: the line is longer than', process.stdout)

    def test_a_closed_output_gives_no_stack_trace(self):
        process = subprocess.Popen(
            [sys.executable, str(HERE / 'verify.py'), 'ledger', '-'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.close()
        process.stdin.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(60), errors), (0, b''))


if __name__ == '__main__':
    unittest.main()
