"""Tests that this verifier gives each hostile file the verdict in the manifest."""

import json
import unittest

import golden
import make_hostile

# The command for a kind of file, if its name differs from the kind.
COMMANDS = {'audit': 'ledger'}


class HostileFiles(golden.VerifierTest):
    def test_the_folder_matches_the_generator(self):
        self.assertEqual(make_hostile.main(['--check']), 0)

    def test_each_verdict_matches_the_manifest(self):
        manifest = json.loads((make_hostile.FOLDER / 'manifest.json').read_text('utf-8'))
        self.assertGreater(len(manifest['cases']), 150)
        for case in manifest['cases']:
            with self.subTest(case['name']):
                self.assertEqual(self._verdict(case), (case['verdict'], case['row']))

    def _verdict(self, case):
        result = self.run_verifier(COMMANDS.get(case['kind'], case['kind']), str(make_hostile.FOLDER / case['file']), *_options(case))
        if 'remark' in case:
            self.assertEqual('ledger.restore_accepted' in json.dumps(result), case['remark'])
        row = result['first_bad']['line'] if case['row'] is not None and 'first_bad' in result else None
        return 'valid' if result['exit_code'] == 0 else 'refused', row


def _options(case):
    options = []
    for name in ('tenant', 'head'):
        options += [f'--{name}', case[name]] if name in case else []
    for name in ('checkpoint', 'audit', 'replay'):
        options += [f'--{name}', str(make_hostile.FOLDER / case[name])] if name in case else []
    if case['kind'] == 'decision':
        return [*options, '--key-file', str(make_hostile.FOLDER / 'decision.key')]
    if case['kind'] == 'attestation' or 'checkpoint' in case:
        options += ['--key', str(make_hostile.FOLDER / case.get('key', 'first.vkey'))]
    return options


if __name__ == '__main__':
    unittest.main()
