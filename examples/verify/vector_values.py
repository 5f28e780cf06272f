"""The identifiers and the secret that all golden vectors share."""

ORIGIN = (
    'examples/verify/make_vectors.py, from docs/formats.md alone and independent of packages/core. '
    'The people and figures in it are invented.'
)

TENANT = '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'
OTHER_TENANT = '00000000-0000-4000-8000-000000000001'
AGENT = '0b6f4d52-71c3-4e8b-9a2d-6c5e8f1a3b70'
HARNESS = 'c2a9e1f4-5d60-4b37-8e12-9f7a0d3c6b58'
EVALUATION = '7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a9b2d'
MASTER_SECRET = bytes(range(32))
KEY_ID = 'dk-1'
OTHER_KEY_ID = 'dk-2'
KEY_WRITER = 'key:4f9a02c7d1e6'
