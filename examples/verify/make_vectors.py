#!/usr/bin/env python3
"""Writes the golden vectors for the tests of the service. Only this verifier makes them, so it and the service check each other.
Both were written from docs/formats.md, and they share no code.

`make_vectors.py` writes the files. `make_vectors.py --check` compares them with what it would write.
The output depends on neither clock nor random numbers. Each kind of vector has its own module. The published vectors in the same
folder (RFC 8785, 5869, 4231, 6962, signed-note) are not made here.
"""

import sys

sys.dont_write_bytecode = True

import json
import pathlib

import chain_vectors
import decision_vectors
import evidence_vectors
import proof_vectors
import seal_vectors
import trace_vectors
from vector_values import MASTER_SECRET, ORIGIN, TENANT

VECTORS = pathlib.Path(__file__).resolve().parents[2] / 'packages' / 'core' / 'test' / 'vectors'


def files():
    """Name and bytes of each file. ASCII, so that no editor or terminal changes a character that matters."""
    chain, decisions = chain_vectors.chain_vectors(), decision_vectors.decision_vectors()
    row_hashes = [entry['row_hash'] for entry in chain['entries']]
    responses = [case['response'] for case in decisions['cases']]
    digests = [response['response_sha256'] for response in responses]
    made = {
        'audit-chain.json': chain,
        'decision.json': decisions,
        'evidence.json': evidence_vectors.evidence_vectors(),
        'evidence-events.json': evidence_vectors.evidence_event_vectors(),
        'trace-events.json': trace_vectors.trace_event_vectors(),
        'checkpoints.json': proof_vectors.checkpoint_vectors(ORIGIN, TENANT, row_hashes, digests),
        'head-seals.json': seal_vectors.head_seal_vectors(ORIGIN, MASTER_SECRET, TENANT, row_hashes),
        'row-seals.json': seal_vectors.row_seal_vectors(ORIGIN, MASTER_SECRET, TENANT),
        'signing-key-succession.json': proof_vectors.succession_vectors(ORIGIN),
        'attestation.json': proof_vectors.attestation_vectors(ORIGIN, responses),
    }
    return {name: (json.dumps(value, indent=2) + '\n').encode('ascii') for name, value in made.items()}


def main(arguments):
    if arguments not in ([], ['--check']):
        print('usage: make_vectors.py [--check]', file=sys.stderr)
        return 2
    stale = 0
    for name, data in files().items():
        path = VECTORS / name
        if arguments == ['--check']:
            is_current = path.is_file() and path.read_bytes() == data
            stale += not is_current
            print(f'{name}: {"up to date" if is_current else "out of date"}')
        else:
            path.write_bytes(data)
            print(f'{name}: written, {len(data)} bytes')
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
