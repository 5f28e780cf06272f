"""The golden vectors for the tests, altered versions of them, and the base class of tests that run the verifier."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import jcs
import ledger
import make_vectors
import vector_values
import proof_vectors
import verify

FORMATS_PAGE = make_vectors.VECTORS.parents[3] / 'docs' / 'formats.md'


def vectors(name):
    return json.loads((make_vectors.VECTORS / name).read_text('utf-8'))


def golden_lines():
    return [entry['line'].encode('utf-8') for entry in vectors('audit-chain.json')['entries']]


def golden_rows():
    return [jcs.read(line.decode('utf-8')) for line in golden_lines()]


# Other values of the right form, so that only hashes and links reveal the change.
OTHER_VALUES = {
    'id': '00000000-0000-4000-8000-00000000000f',
    'key_id': '00000000-0000-4000-8000-00000000000e',
    'agent_id': '00000000-0000-4000-8000-00000000000d',
    'recorded_by': 'key:0123456789ab',
    'prefix': '0123456789ab',
    'action': 'revoked',
    'retention_until': '2030-01-01',
    'timestamp': '2026-11-20T12:00:00.009Z',
}


def export(rows):
    return b''.join(json.dumps(row, ensure_ascii=False).encode('utf-8') + b'\n' for row in rows)


def rehashed(rows):
    """The rows with recomputed hashes and links, as an attacker who knows the format would write them."""
    prev_hash = None
    for row in rows:
        row['prev_hash'] = prev_hash
        prev_hash = row['row_hash'] = ledger.row_hash({name: value for name, value in row.items() if name != 'row_hash'})
    return rows


def tree_data(rows):
    """The leaf data of an audit ledger."""
    return [bytes.fromhex(row['row_hash']) for row in rows]


def golden_decisions():
    return [case['response'] for case in vectors('decision.json')['cases']]


def decisions_export(responses):
    return export([{'seq': seq, 'decision': response} for seq, response in enumerate(responses, 1)])


def decision_data(responses):
    return [bytes.fromhex(response['response_sha256']) for response in responses]


class VerifierTest(unittest.TestCase):
    """Runs verify.py in this process, with files in a temporary folder of the test."""

    KEY = proof_vectors.jwk(proof_vectors.SEEDS['first'])['note_key']
    SECOND_KEY = proof_vectors.jwk(proof_vectors.SEEDS['second'])['note_key']
    STRANGERS_KEY = proof_vectors.jwk(proof_vectors.SEEDS['stranger'])['note_key']
    ORIGIN = f'countersign/{vector_values.TENANT}'

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file_count = 0

    def file(self, data, name=None):
        self.file_count += 1
        path = self.folder / (name or f'given-{self.file_count}')
        path.write_bytes(data if isinstance(data, bytes) else data.encode('utf-8'))
        return str(path)

    def run_verifier(self, *arguments):
        """Runs verify.py with --json. Returns its output as a dict, with the member exit_code added."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exit_code = verify.main([*arguments, '--json'])
        result = json.loads(output.getvalue())
        self.assertEqual(result['result'], {0: 'ok', 1: 'broken', 2: 'unusable'}[exit_code])
        return {**result, 'exit_code': exit_code}

    def expect_ok(self, *arguments):
        """Asserts that the result is `ok`."""
        result = self.run_verifier(*arguments)
        self.assertEqual(result['result'], 'ok', result)
        return result

    def expect_codes(self, codes, *arguments):
        """Asserts that the result is `broken`, with these codes in this order."""
        result = self.run_verifier(*arguments)
        self.assertEqual(result['result'], 'broken', result)
        problems = result['problems'] if 'problems' in result else result['first_bad']['problems']
        self.assertEqual([problem['code'] for problem in problems], [codes] if isinstance(codes, str) else codes, result)
        return result

    def expect_unusable(self, *arguments):
        """Asserts that the result is `unusable`."""
        result = self.run_verifier(*arguments)
        self.assertEqual(result['result'], 'unusable', result)
        return result
