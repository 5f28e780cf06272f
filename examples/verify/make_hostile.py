"""Writes the hostile files on which all verifiers must agree (hostile/README.md).

`make_hostile.py --check` compares the folder with what it would write.
"""

import pathlib
import sys

sys.dont_write_bytecode = True

import json

import hostile_logs
import hostile_replays
import hostile_signatures
import vector_values

FOLDER = pathlib.Path(__file__).resolve().parent / 'hostile'


def files():
    """Name and bytes of each file, including the manifest."""
    keys, cases = hostile_signatures.keys(), []
    made = dict(keys)
    for case in [*hostile_logs.cases(), *hostile_replays.cases(), *hostile_signatures.cases()]:
        data = case.pop('data')
        suffix = 'ndjson' if case['kind'] in ('audit', 'decisions', 'evidence', 'keys', 'traces') else 'json'
        case['file'] = f'{case["name"]}.{suffix}'
        made[case['file']] = data if isinstance(data, bytes) else data.encode('utf-8')
        for name, other in case.pop('others', {}).items():
            made[name] = other.encode('utf-8')
        cases.append(case)
    manifest = {'tenant': vector_values.TENANT, 'cases': cases}
    made['manifest.json'] = (json.dumps(manifest, indent=1) + '\n').encode('ascii')
    return made


def main(arguments):
    if arguments not in ([], ['--check']):
        print('usage: make_hostile.py [--check]', file=sys.stderr)
        return 2
    made = files()
    if arguments == ['--check']:
        stale = [name for name, data in made.items() if not (FOLDER / name).is_file() or (FOLDER / name).read_bytes() != data]
        stale += [path.name for path in FOLDER.iterdir() if path.name not in made and path.name != 'README.md']
        print('up to date' if not stale else f'out of date: {", ".join(stale)}')
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name, data in made.items():
        (FOLDER / name).write_bytes(data)
    print(f'{len(made)} files written')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
