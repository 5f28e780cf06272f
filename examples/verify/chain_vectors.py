"""The golden vectors of the audit chain; written to a file by make_vectors.py."""

import hashlib
import json

import jcs
import ledger
import ndjson
from decision_vectors import BLOCKED, decision_response
from vector_values import AGENT, KEY_WRITER, ORIGIN, TENANT


# What each entry tests, and its JSON as text. The tests need the spelling: a sender chooses the order of members, escapes and forms of
# numbers, and these must not change the hash. chain_vectors() adds prev_hash and row_hash.
ENTRIES = [
    (
        'every member that may be null is null',
        """{"version":1,"tenant_id":"%(tenant)s","seq":1,"id":"a1f0c3d2-0001-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:00.123Z","recorded_by":"operator","actor":"ops","action":"workspace.created",
        "subject":null,"rationale":null,"framework":null,"trace_id":null,"agent_id":null,"retention_until":null,"metadata":null}""",
    ),
    (
        'every member has a value; characters beyond ASCII and beyond the basic plane; the same instant as the row before',
        """{"version":1,"tenant_id":"%(tenant)s","seq":2,"id":"a1f0c3d2-0002-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:00.123Z","recorded_by":"%(writer)s","actor":"ci:deploy-prod","action":"agent.promoted",
        "subject":"Größenprüfer 😀","rationale":"Geprüft von Łukasz, 承認済み — d'accord 👩‍🚀","framework":"EU AI Act, Art. 14",
        "trace_id":"run-2026-11-20/0042","agent_id":"%(agent)s","retention_until":"2033-12-31","metadata":{"build":4711,"green":true}}""",
    ),
    (
        'every kind of character that JSON.stringify escapes, and those that other libraries escape but JCS does not; no normalization',
        r"""{"version":1,"tenant_id":"%(tenant)s","seq":3,"id":"a1f0c3d2-0003-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:01.000Z","recorded_by":"%(writer)s","actor":"importer","action":"evidence.imported",
        "subject":"\u0000\u0001\b\t\n\u000B\f\r\u000E\u001F \u0020","rationale":"\"\\\/<script>&'\u007f\u0080\u009f\u00ad\u2028\u2029\ufeff\ufffe\uffff \ud83d\ude00 \u00C5 A\u030A",
        "framework":null,"trace_id":null,"agent_id":null,"retention_until":null,"metadata":{"nul":"a\u0000b","sep":"\u2028"}}""",
    ),
    (
        'member names: UTF-16 order differs from code point order, names that look like numbers, empty and awkward names',
        r"""{"version":1,"tenant_id":"%(tenant)s","seq":4,"id":"a1f0c3d2-0004-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-20T09:30:02.999Z","recorded_by":"%(writer)s","actor":"runtime","action":"policy.evaluated",
        "subject":"order","rationale":null,"framework":null,"trace_id":null,"agent_id":null,"retention_until":null,
        "metadata":{"\uFB33":"hebrew","\ud83d\ude00":"astral","\uE000":"private use","\u20ac":"euro","z":1,"aa":2,"a":3,"A":4,"":5,
        "10":6,"9":7,"1":8,"-1":9,"\n":10,"\u007f":11,"\u0000":12,"__proto__":{"constructor":13,"toString":null},"a\u0301":14,"\u00e1":15,
        "nested":{"b":[{"y":[],"x":{}},[[["deep"]]],"",null,true,false],"a":{"ﬀ":1,"𐀀":2}}}}""",
    ),
    (
        'numbers: the forms of ECMAScript Number::toString, some in spellings that differ from it',
        """{"metadata":{"zero":0,"one":1.0,"minus":-1,"exponent":1E+2,"trailing":4.50,"tenth":0.1,"long":123456789.125,
        "e-6":0.000001,"e-7":0.0000001,"1e20":100000000000000000000,"1e21":1000000000000000000000,"1e23":1e23,
        "safe":9007199254740991,"minus safe":-9007199254740991,"2^53":9007199254740992,"greatest":1.7976931348623157e308,"least":5e-324,
        "round to even":1424953923781206.2,"small":-0.0000033333333333333333,"many":[333333333.3333333,0.002,1e-27,1e30,12e-1]},
        "retention_until":"2027-02-28","agent_id":null,"trace_id":null,"framework":null,"rationale":"numbers","subject":"numbers",
        "action":"metrics.recorded","actor":"harness","recorded_by":"%(writer)s","recorded_at":"2026-11-20T23:59:59.999Z",
        "id":"a1f0c3d2-0005-4b6e-8d7a-2f4c6e8a0b1d","seq":5,"tenant_id":"%(tenant)s","version":1}""",
    ),
    (
        'the entry of a blocked promotion',
        """{"version":1,"tenant_id":"%(tenant)s","seq":6,"id":"a1f0c3d2-0006-4b6e-8d7a-2f4c6e8a0b1d",
        "recorded_at":"2026-11-21T00:00:00.000Z","recorded_by":"system:promotion-gate","actor":"promotion-gate","action":"evaluation.failed",
        "subject":"refund-agent","rationale":"%(message)s","framework":null,
        "trace_id":null,"agent_id":"%(agent)s","retention_until":null,"metadata":{"decision_id":"5c0e8f2a-6b1d-4d3f-9e47-8a2c4e6f0b13",
        "response_sha256":"%(blocked)s","key":"4f9a02c7d1e6"}}""",
    ),
]


def chain_vectors():
    values = {
        'tenant': TENANT,
        'agent': AGENT,
        'writer': KEY_WRITER,
        'message': BLOCKED['message'],
        'blocked': decision_response(BLOCKED)['response_sha256'],
    }
    chain = ledger.Chain(TENANT)
    entries = []
    for what, template in ENTRIES:
        text = template.replace('\n        ', '') % values
        # A possible spelling in an export: the sender's own text, followed by the two hashes.
        unfinished = text[:-1] + f',"prev_hash":{json.dumps(chain.head)}' + '}'
        entry = jcs.read(unfinished)
        canonical = jcs.canonicalize(entry)
        row_hash = ledger.row_hash(entry)
        line = unfinished[:-1] + f',"row_hash":"{row_hash}"' + '}'
        prev_hash = chain.head
        chain.append(ndjson.read_line(line.encode('utf-8')))
        entries.append(
            {
                'what': what,
                'line': line,
                'canonical': canonical.decode('utf-8'),
                'canonical_sha256_without_prefix': hashlib.sha256(canonical).hexdigest(),
                'prev_hash': prev_hash,
                'row_hash': row_hash,
            }
        )
    return {
        'origin': ORIGIN,
        'how': 'line is one line of an export, in any spelling; canonical is JCS of its 16 members without row_hash; '
        'row_hash is hex(SHA-256(prefix || canonical in UTF-8)). Parse the line; never hash its text.',
        'prefix': ledger.ROW_DOMAIN.decode('ascii'),
        'tenant_id': TENANT,
        'entries': entries,
    }
