"""Exports and kept heads with at most one error in each case. Hashes are recomputed where possible, so that nothing else is wrong."""

import hashlib
import json

import hostile_keys
import ledger
import make_vectors
import decision_vectors
import vector_values
import merkle
import note
import proof_vectors

TENANT = vector_values.TENANT
# A decision in the current form of the response.
RESPONSE = {
    **decision_vectors.ALLOWED,
    'evaluation': {**decision_vectors.ALLOWED['evaluation'], 'agent_name': 'refund-agent'},
    'tenant_id': TENANT,
}
OTHER_TENANT = vector_values.OTHER_TENANT


def cases():
    return [*_rows(), *_numbers_and_texts(), *_lines(), *_kept_heads(), *_restores(), *_decisions(), *_events()]


def _case(kind, name, data, verdict='refused', row=None, **options):
    options = {key: value for key, value in options.items() if value is not None}
    return {'name': f'{kind}-{name}', 'kind': kind, 'verdict': verdict, 'row': row, **options, 'data': data}


def _row(seq, changed):
    row = {
        'version': 1,
        'tenant_id': TENANT,
        'seq': seq,
        'id': f'a1f0c3d2-{seq:04d}-4b6e-8d7a-2f4c6e8a0b1d',
        'recorded_at': f'2026-11-20T09:30:0{seq}.000Z',
        'recorded_by': 'key:4f9a02c7d1e6',
        'actor': 'ci',
        'action': 'agent.promoted',
        **dict.fromkeys(('subject', 'rationale', 'framework', 'trace_id', 'agent_id', 'retention_until', 'metadata')),
    }
    return {**row, **changed}


def _chain(*changes):
    """Rows with the changes, linked and hashed by the rules of the format, even if their content is invalid."""
    rows, before = [], None
    for seq, changed in enumerate(changes, 1):
        row = {**_row(seq, changed), 'prev_hash': before}
        before = ledger.row_hash(row)
        rows.append({**row, 'row_hash': before})
    return rows


def _text(rows):
    return ''.join(json.dumps(row, ensure_ascii=False) + '\n' for row in rows)


def _second(**changed):
    """The text of three rows, the second one with the changes."""
    return _text(_chain({}, changed, {}))


def _rows():
    yield _case('audit', 'whole', _second(), 'valid')
    for name, changed in {
        'id-upper-case': {'id': 'A1F0C3D2-0002-4B6E-8D7A-2F4C6E8A0B1D'},
        'id-no-uuid': {'id': 'row-2'},
        'agent-id-no-uuid': {'agent_id': 'refund-agent'},
        'agent-id-upper-case': {'agent_id': '0B6F4D52-71C3-4E8B-9A2D-6C5E8F1A3B70'},
        'recorded-by-unknown': {'recorded_by': 'somebody'},
        'recorded-by-with-space': {'recorded_by': 'operator '},
        'recorded-by-key-upper-case': {'recorded_by': 'key:4F9A02C7D1E6'},
        'recorded-by-key-short': {'recorded_by': 'key:4f9a02c7d1'},
        'recorded-by-user-no-uuid': {'recorded_by': 'user:ops'},
        'recorded-by-other-system': {'recorded_by': 'system:other'},
        'recorded-by-newline': {'recorded_by': 'operator\n'},
        'recorded-at-yesterday': {'recorded_at': 'yesterday'},
        'recorded-at-seconds': {'recorded_at': '2026-11-20T09:30:02Z'},
        'recorded-at-microseconds': {'recorded_at': '2026-11-20T09:30:02.000000Z'},
        'recorded-at-offset': {'recorded_at': '2026-11-20T10:30:02.000+01:00'},
        'recorded-at-other-digits': {'recorded_at': '2026-11-20T09:30:0٢.000Z'},
        'recorded-at-earlier': {'recorded_at': '2026-11-20T09:29:00.000Z'},
        'retention-no-date': {'retention_until': 'never'},
        'retention-with-time': {'retention_until': '2033-12-31T00:00:00Z'},
        'other-tenant': {'tenant_id': OTHER_TENANT},
        'version-two': {'version': 2},
        'version-text': {'version': '1'},
        'version-true': {'version': True},
        'seq-text': {'seq': '2'},
        'seq-gap': {'seq': 3},
        'metadata-array': {'metadata': []},
        'metadata-text': {'metadata': 'none'},
        'actor-null': {'actor': None},
        'extra-member': {'note': 'x'},
    }.items():
        yield _case('audit', name, _second(**changed), row=2)
    for name, changed in {
        'recorded-by-each-form': [{'recorded_by': by} for by in ('operator', f'user:{TENANT}', 'system:promotion-gate', 'key:4f9a02c7d1e6')],
        'retention-date': [{'retention_until': '2033-12-31', 'agent_id': TENANT}],
        'same-recorded-at': [{}, {'recorded_at': '2026-11-20T09:30:01.000Z'}],
        'metadata-proto': [{'metadata': {'__proto__': {'a': 1}, 'constructor': None}}],
    }.items():
        yield _case('audit', name, _text(_chain(*changed)), 'valid')
    yield _case('audit', 'tenant-no-uuid', _text(_chain({'tenant_id': 'acme'})), row=1)
    missing = {name: value for name, value in _row(1, {}).items() if name != 'trace_id'}
    missing['prev_hash'] = None
    yield _case('audit', 'member-missing', _text([{**missing, 'row_hash': ledger.row_hash(missing)}]), row=1)
    step = {'size': 1, 'before': '2026-11-20T09:30:01.000Z', 'after': '2026-11-20T09:00:00.000Z'}
    corrected = {'action': 'clock.corrected', 'recorded_at': step['after'], 'metadata': {'logs': {'audit': step}, 'reopened_approvals': 0}}
    yield _case('audit', 'clock-corrected', _text(_chain({}, {**corrected, 'recorded_by': 'operator'})), 'valid')
    yield _case('audit', 'clock-corrected-by-a-key', _text(_chain({}, corrected)), row=2)


def _nested(depth):
    return json.loads('[' * depth + ']' * depth)


def _numbers_and_texts():
    """Other texts replace the metadata {"n": 0} of the second row. A lenient reader gives most of them the same value and hash."""
    whole = _second(metadata={'n': 0})
    for name, written in {
        'minus-zero': '{"n": -0}',
        'minus-zero-point': '{"n": -0.0}',
        'underflow': '{"n": 1e-400}',
        'duplicate-name': '{"n": 1, "n": 0}',
        'duplicate-name-escaped': '{"n": 1, "\\u006e": 0}',
        'duplicate-name-inside': '{"n": 0, "m": {"a": 1, "a": 1}}',
        'overflow': '{"n": 1e400}',
        'nan': '{"n": NaN}',
        'leading-zero': '{"n": 00}',
        'leading-plus': '{"n": +0}',
        'trailing-comma': '{"n": 0,}',
        'comment': '{"n": 0 /* zero */}',
        'single-quotes': "{'n': 0}",
        'lone-surrogate': '{"n": "\\ud800"}',
        'lone-surrogate-in-name': '{"\\udc00": 0}',
        'control-character': '{"n": "\t"}',
    }.items():
        yield _case('audit', f'json-{name}', whole.replace('{"n": 0}', written), row=2)
    tenth = _second(metadata={'n': 0.1})
    yield _case('audit', 'json-long-fraction', tenth.replace('{"n": 0.1}', '{"n": 0.1000000000000000055511151231257827}'), row=2)
    large = _second(metadata={'n': 9007199254740992})
    yield _case('audit', 'json-integer-beyond-2-53', large.replace('9007199254740992', '9007199254740993'), row=2)
    yield _case('audit', 'json-integer-2-53', large, 'valid')
    yield _case('audit', 'json-zero-exponent', whole.replace('{"n": 0}', '{"n": 0e999999999999}'), 'valid')
    yield _case('audit', 'json-zero-fraction', whole.replace('{"n": 0}', '{"n": 0.000}'), 'valid')
    yield _case('audit', 'json-exponent', _second(metadata={'n': 100}).replace('{"n": 100}', '{"n": 1E+2}'), 'valid')
    yield _case('audit', 'json-names-by-utf16', _second(metadata={'\ufb33': 1, '\U0001f600': 2, '\ue000': 3}), 'valid')
    # The row is the first level of nesting, its metadata the second.
    yield _case('audit', 'nested-200', _second(metadata={'n': _nested(198)}), 'valid')
    yield _case('audit', 'nested-201', _second(metadata={'n': _nested(199)}), row=2)
    deep = whole.replace('{"n": 0}', '{"n": ' + '[' * 100_000 + ']' * 100_000 + '}')
    yield _case('audit', 'nested-100000', deep, row=2)


def _lines():
    whole = _second()
    lines = whole.splitlines(keepends=True)
    yield _case('audit', 'last-newline-missing', whole[:-1], 'valid')
    yield _case('audit', 'carriage-returns', whole.replace('\n', '\r\n'), 'valid')
    yield _case('audit', 'spaces-around', ''.join(f' \t{line[:-1]} \n' for line in lines), 'valid')
    # The client's command rejects an empty file without a kept head, and the other verifiers accept it. So this case has a head.
    none = note.to_base64(merkle.EMPTY_ROOT)
    yield _case('audit', 'empty-and-kept-as-empty', '', 'valid', head=f'audit;size=0;root=:{none}:')
    yield _case('audit', 'empty-line-at-end', whole + '\n', row=4)
    yield _case('audit', 'empty-line-inside', lines[0] + '\n' + lines[1], row=2)
    yield _case('audit', 'byte-order-mark', '\ufeff' + whole, row=1)
    yield _case('audit', 'no-break-space', lines[0] + '\u00a0' + lines[1], row=2)
    yield _case('audit', 'two-rows-on-a-line', lines[0][:-1] + whole[len(lines[0]):], row=1)
    yield _case('audit', 'cut-in-the-last-row', whole[:-20], row=3)
    yield _case('audit', 'bad-utf8', whole.encode('utf-8').replace(b'"ci"', b'"c\xff"', 1), row=1)
    yield _case('audit', 'overlong-utf8', whole.encode('utf-8').replace(b'"ci"', b'"c\xc0\xaf"', 1), row=1)
    yield _case('audit', 'surrogate-in-utf8', whole.encode('utf-8').replace(b'"ci"', b'"c\xed\xa0\x80"', 1), row=1)
    yield _case('audit', 'of-the-tenant', whole, 'valid', tenant=TENANT)
    yield _case('audit', 'not-of-the-tenant', whole, tenant=OTHER_TENANT)


def _kept_heads():
    rows = _chain({}, {}, {})
    text, data = _text(rows), [bytes.fromhex(row['row_hash']) for row in rows]
    root, none = (note.to_base64(value) for value in (proof_vectors.root_of(data), merkle.EMPTY_ROOT))

    def head(name, value, *more):
        return _case('audit', f'head-{name}', text, *more, head=value)

    yield head('matching', f'audit;size=3;root=:{root}:', 'valid')
    yield head('of-size-0', f'audit;size=0;root=:{none}:', 'valid')
    yield head('of-size-0-with-another-root', f'audit;size=0;root=:{root}:')
    yield head('beyond-the-end', f'audit;size=4;root=:{root}:')
    yield head('with-another-root', f'audit;size=3;root=:{none}:')
    yield head('with-leading-zero', f'audit;size=03;root=:{root}:')
    yield head('of-the-log-twice', f'audit;size=3;root=:{root}:, audit;size=3;root=:{root}:')
    yield head('base64url', 'audit;size=3;root=:' + '-' * 43 + '=:')

    def signed(name, value, *more):
        others = {f'audit-checkpoint-{name}.note': value}
        return {**_case('audit', f'checkpoint-{name}', text, *more, checkpoint=f'audit-checkpoint-{name}.note'), 'others': others}

    first, origin = proof_vectors.SEEDS['first'], f'countersign/{TENANT}'

    def checkpoint(size, root_bytes, of=origin):
        return proof_vectors.signed_note(proof_vectors.checkpoint_text(of, size, root_bytes), first)

    whole = checkpoint(3, proof_vectors.root_of(data))
    yield signed('matching', whole, 'valid')
    yield signed('of-size-0-with-another-root', checkpoint(0, proof_vectors.root_of(data)))
    yield signed('of-another-tenant', checkpoint(3, proof_vectors.root_of(data), f'countersign/{OTHER_TENANT}'))
    yield signed('without-last-newline', whole[:-1])
    yield signed('by-a-stranger', proof_vectors.checkpoint(origin, data, proof_vectors.SEEDS['stranger']))
    yield signed('twice-signed-once-wrongly', whole + proof_vectors.signature_line(first, 'another text\n'))
    # Signature lines of unknown keys are ignored, unless the key name contains a plus sign or white space of Unicode.
    yield signed('with-an-unknown-name', whole + '\u2014 other AAAAAAAA\n', 'valid')
    yield signed('with-a-plus-in-a-name', whole + '\u2014 other+name AAAAAAAA\n')
    yield signed('with-a-next-line-in-a-name', whole + '\u2014 other\u0085name AAAAAAAA\n')
    yield signed('with-a-byte-order-mark-in-a-name', whole + '\u2014 other\ufeffname AAAAAAAA\n', 'valid')
    second = proof_vectors.checkpoint(origin, data, proof_vectors.SEEDS['second'])
    for name, verdict, file in hostile_keys.successions():
        yield {**signed(f'succession-{name}', second, verdict), 'key': file}


def _restores():
    """A log that an operator restored: three rows remain, and a head of six rows is abandoned.

    The entry ledger.restore_accepted explains mismatched heads, but verifiers still reject the log.
    """

    def header(log, size, root):
        return f'{log};size={size};root=:{note.to_base64(root)}:'

    kept = [bytes.fromhex(row['row_hash']) for row in _chain({}, {}, {})]
    lost = [*kept, *(hashlib.sha256(bytes([each])).digest() for each in range(3))]
    heads = {size: proof_vectors.root_of(lost[:size]) for size in range(1, 7)}
    named = {
        'abandoned': {'size': 6, 'root': note.to_base64(heads[6])},
        'restored': {'size': 3, 'root': note.to_base64(heads[3])},
    }
    entry = {'recorded_by': 'operator', 'action': 'ledger.restore_accepted', 'metadata': {'logs': {'audit': named}}}

    def case(name, size, root, verdict='refused', remark=False, changed=None):
        text = _text(_chain({}, {}, {}, {**entry, **(changed or {})}, {}))
        return _case('audit', f'restore-{name}', text, verdict, head=header('audit', size, root), remark=remark)

    yield case('kept-rows', 3, heads[3], 'valid')
    yield case('abandoned-head', 6, heads[6], remark=True)
    yield case('abandoned-rows', 5, heads[5], remark=True)
    yield case('other-head-of-the-abandoned-size', 6, heads[5], remark=True)
    yield case('head-beyond-the-abandoned-one', 7, heads[6])
    yield case('other-head-of-kept-rows', 3, heads[2])
    yield case('by-a-key', 6, heads[6], changed={'recorded_by': 'key:4f9a02c7d1e6'})
    yield case('of-another-log', 6, heads[6], changed={'metadata': {'logs': {'keys': named}}})
    yield case('without-roots', 6, heads[6], changed={'metadata': {'logs': {'audit': {'abandoned': {'size': 6}, 'restored': {'size': 3}}}}})
    yield case('size-true', 6, heads[6], changed={'metadata': {'logs': {'audit': {**named, 'restored': {**named['restored'], 'size': True}}}}})
    yield case('logs-array', 6, heads[6], changed={'metadata': {'logs': [named]}})
    text = _text([_decision_line(1, _response(1))])
    audit = {'audit-of-a-restore.ndjson': _text(_chain({}, {**entry, 'metadata': {'logs': {'decisions': {**named, 'restored': {**named['restored'], 'size': 1}}}}}))}
    head = header('decisions', 6, heads[6])
    yield {**_case('decisions', 'restore-abandoned-head', text, head=head, remark=True, audit='audit-of-a-restore.ndjson'), 'others': audit}
    yield _case('decisions', 'restore-without-the-audit-ledger', text, head=head, remark=False)


def _decision_line(seq, response):
    return {'seq': seq, 'decision': response}


def _response(number, **changed):
    signed = {
        **RESPONSE,
        'decision_id': f'8d2f4b6c-{number:04d}-4c3d-9f5b-7a9c1e3d5f70',
        'timestamp': f'2026-11-20T12:00:0{number}.000Z',
        **changed,
    }
    return decision_vectors.decision_response({name: value for name, value in signed.items() if value != '(absent)'})


def _decisions():
    def log(name, responses, verdict='refused', row=None, seqs=None, **options):
        lines = [_decision_line(seq, response) for seq, response in zip(seqs or range(1, 9), responses)]
        return _case('decisions', name, _text(lines), verdict, row, **options)

    first, second = _response(1), _response(2)
    older = _response(1, tenant_id='(absent)')
    yield log('whole', [first, second], 'valid')
    yield log('older-without-tenant', [older, second], 'valid')
    yield log('of-the-tenant', [first, second], 'valid', tenant=TENANT)
    yield log('not-of-the-tenant', [first, second], tenant=OTHER_TENANT)
    yield log('older-without-the-required-tenant', [older, second], tenant=TENANT)
    yield log('two-tenants', [first, _response(2, tenant_id=OTHER_TENANT)], row=2)
    yield log('out-of-order', [second, first], row=1, seqs=[2, 1])
    yield log('seq-text', [first, second], row=2, seqs=[1, '2'])
    yield log('gap', [first, second], row=2, seqs=[1, 3])
    yield log('one-decision-twice', [first, second, first], row=3)
    yield log('one-id-twice', [first, _response(1, allowed=False)], row=2)
    yield log('timestamp-yesterday', [first, _response(2, timestamp='yesterday')], row=2)
    yield log('timestamp-seconds', [first, _response(2, timestamp='2026-11-20T12:00:02Z')], row=2)
    yield log('timestamp-number', [first, _response(2, timestamp=1)], row=2)
    yield log('allowed-text', [first, _response(2, allowed='true')], row=2)
    yield log('digest-of-another', [first, {**second, 'response_sha256': first['response_sha256']}], row=2)
    yield log('other-algorithm', [first, {**second, 'signature_alg': 'none'}], row=2)
    yield log('without-signature', [{name: value for name, value in first.items() if name != 'signature'}], row=1)
    yield log('id-missing', [_response(1, decision_id='(absent)')], row=1)
    backwards = [second, first]
    yield log('backwards-unchecked', backwards, 'valid')
    yield {**log('backwards', backwards, row=2, audit='audit-of-decisions.ndjson'), 'others': {'audit-of-decisions.ndjson': _second()}}
    twice = _text([_decision_line(1, first)]).replace('"allowed": true', '"allowed": false, "allowed": true')
    yield _case('decisions', 'allowed-twice', twice, row=1)


def _events():
    def event(seq, **changed):
        return proof_vectors.key_event(TENANT, seq, 'minted' if seq == 1 else 'rotated', **changed)

    def log(name, second, verdict='refused', **options):
        return _case('keys', name, _text([event(1), second]), verdict, 2 if verdict == 'refused' and 'tenant' not in options else None, **options)

    yield log('whole', event(2), 'valid')
    yield log('of-the-tenant', event(2), 'valid', tenant=TENANT)
    yield log('not-of-the-tenant', event(2), tenant=OTHER_TENANT)
    yield log('other-tenant', {**event(2), 'tenant_id': OTHER_TENANT})
    yield log('id-no-uuid', event(2, id='event-2'))
    yield log('recorded-by-unknown', event(2, recorded_by='somebody'))
    yield log('recorded-at-yesterday', event(2, recorded_at='yesterday'))
    yield log('key-id-no-uuid', event(2, key_id='ci'))
    yield log('prefix-upper-case', event(2, prefix='4F9A02C7D1E6'))
    yield log('expires-at-date', event(2, expires_at='2026-11-20'))
    yield log('action-unknown', {**event(2), 'action': 'stolen'})
    yield log('seq-gap', event(3))
    yield log('version-one', event(2, version=1))
    yield log('kind-unknown', event(2, kind='admin'))
    yield log('credential-short', event(2, credential_sha256='ab' * 31))
    yield log('name-null', event(2, name=None))
    yield log('minted-twice', {**event(2), 'action': 'minted'})
    yield log('rotated-without-minting', event(2, prefix='abcdefabcdef'))
    yield log('scopes-text', event(2, scopes='audit'))
    yield log('extra-member', event(2, secret='x'))
    vector = json.loads(make_vectors.files()['evidence-events.json'])['events']
    events = [one['event'] for one in vector][:2]

    def evidence(name, verdict='refused', row=None, tenant=None, **changed):
        return _case('evidence', name, _text([events[0], {**events[1], **changed}]), verdict, row, tenant=tenant)

    yield evidence('whole', 'valid')
    yield evidence('not-of-the-tenant', tenant=OTHER_TENANT)
    yield evidence('recorded-by-unknown', row=2, recorded_by='somebody')
    yield evidence('action-unknown', row=2, action='agent.blessed')
    yield evidence('recorded-at-yesterday', row=2, recorded_at='yesterday')
    yield _case('evidence', 'agent-never-registered', _text([{**events[1], 'seq': 1}]), row=1)
    yield _case('evidence', 'agent-registered-twice', _text([events[0], {**events[0], 'seq': 2}]), row=2)
    vector = json.loads(make_vectors.files()['trace-events.json'])['events']
    traces = [one['event'] for one in vector]
    first = traces[1]['submissions'][0]

    def trace(name, verdict='refused', row=2, tenant=None, **changed):
        return _case('traces', name, _text([traces[0], {**traces[1], **changed}]), verdict, row, tenant=tenant)

    yield trace('whole', 'valid', row=None)
    yield trace('not-of-the-tenant', row=None, tenant=OTHER_TENANT)
    yield trace('seq-gap', seq=3)
    yield trace('version-two', version=2)
    yield trace('action-unknown', action='traces.erased')
    yield trace('received-at-yesterday', received_at='yesterday')
    yield trace('no-submissions', submissions=[])
    yield trace('submissions-object', submissions={})
    yield trace('submission-null', submissions=[None])
    yield trace('submission-extra-member', submissions=[{**first, 'spans': 1}])
    yield trace('submission-without-number', submissions=[{name: value for name, value in first.items() if name != 'number'}])
    yield trace('submission-number-0', submissions=[{**first, 'number': 0}])
    yield trace('submission-number-2-53', submissions=[{**first, 'number': 2**53}])
    yield trace('submission-number-true', submissions=[{**first, 'number': True}])
    yield trace('submission-hash-upper-case', submissions=[{**first, 'document_sha256': 'AB' * 32}])
    yield trace('submission-recorded-by-unknown', submissions=[{**first, 'recorded_by': 'somebody'}])
    third, [dropped, *_] = traces[2], traces[2]['traces']

    def drop(name, verdict='refused', row=3, **changed):
        return _case('traces', name, _text([*traces[:2], {**third, **changed}]), verdict, row)

    yield drop('drop-whole', 'valid', row=None)
    yield drop('drop-without-traces', traces=[])
    yield drop('drop-reason-unknown', reason='boredom')
    yield drop('drop-of-submissions', submissions=[first])
    yield drop('drop-received-at', received_at=third['recorded_at'])
    yield drop('drop-trace-null', traces=[None])
    yield drop('drop-trace-extra-member', traces=[{**dropped, 'trace_id': 'run-1'}])
    yield drop('drop-trace-submissions-0', traces=[{**dropped, 'submissions': 0}])
    yield drop('drop-exports-null', exports=None)
    yield drop('drop-exports-short', exports=['ab'])
    without = {name: value for name, value in third.items() if name != 'exports'}
    yield _case('traces', 'drop-without-exports', _text([*traces[:2], without]), row=3)
