import { paths } from '../harness/test-server.ts';
import { GOOD, type RejectedRequest } from './rejections.ts';

const TRACE = JSON.stringify(GOOD.trace);
const ENTRY = JSON.stringify(GOOD.entry);

const concatBytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

/** Bodies that are not JSON. Each is sent to an endpoint that ignores unknown members (tolerant) and to one that rejects them (strict). */
export const NON_JSON_BODIES: RejectedRequest[] = (
  [
    ['empty', ''],
    ['only white space', ' \r\n\t '],
    ['cut off within a string', TRACE.slice(0, 20)],
    ['cut off before the last brace', TRACE.slice(0, -1)],
    ['one brace', '{'],
    ['one brace too many', `${ENTRY}}`],
    ['a trailing comma in an object', '{"actor":"a","action":"b",}'],
    ['a trailing comma in a list', '{"metadata":{"a":[1,]}}'],
    ['a leading comma', '{,"actor":"a"}'],
    ['no comma', '{"actor":"a" "action":"b"}'],
    ['no colon', '{"actor" "a"}'],
    ['two values', `${ENTRY}${ENTRY}`],
    ['two lines of NDJSON', `${ENTRY}\n${ENTRY}`],
    ['single quotes', "{'actor':'a'}"],
    ['a name without quotes', '{actor:"a"}'],
    ['a comment', `/* entry */ ${ENTRY}`],
    ['a comment to the end of the line', `${ENTRY} // entry`],
    ['NaN', '{"metadata":{"a":NaN}}'],
    ['Infinity', '{"metadata":{"a":-Infinity}}'],
    ['undefined', 'undefined'],
    ['True', '{"metadata":{"a":True}}'],
    ['a number with a leading zero', '{"metadata":{"a":01}}'],
    ['a number with a plus', '{"metadata":{"a":+1}}'],
    ['a number that begins with the point', '{"metadata":{"a":.5}}'],
    ['a number that ends with the point', '{"metadata":{"a":5.}}'],
    ['a hexadecimal number', '{"metadata":{"a":0x10}}'],
    ['an unfinished escape', '{"actor":"\\u00"}'],
    ['an unknown escape', '{"actor":"\\x41"}'],
    ['a line break within a string', '{"actor":"a\nb"}'],
    ['a tab within a string', '{"actor":"a\tb"}'],
    ['a NUL byte within a string', concatBytes('{"actor":"a', [0], 'b"}')],
    ['a NUL byte at the end', concatBytes(ENTRY, [0])],
    ['a byte order mark', concatBytes([0xef, 0xbb, 0xbf], ENTRY)],
    ['UTF-16', Buffer.from(ENTRY, 'utf16le')],
    ['Latin-1', concatBytes('{"actor":"J', [0xfc], 'rgen","action":"b"}')],
    ['an overlong UTF-8 encoding', concatBytes('{"actor":"', [0xc0, 0xaf], '","action":"b"}')],
    ['a surrogate in UTF-8', concatBytes('{"actor":"', [0xed, 0xa0, 0xbd], '","action":"b"}')],
    ['a truncated UTF-8 character', concatBytes('{"actor":"', [0xf0, 0x9f, 0x98], '","action":"b"}')],
    ['a code point beyond U+10FFFF', concatBytes('{"actor":"', [0xf4, 0x90, 0x80, 0x80], '","action":"b"}')],
    ['XML', '<entry actor="a" action="b"/>'],
    ['a form', 'actor=a&action=b'],
  ] as [string, string | Buffer][]
).flatMap(([what, body]) =>
  [paths.traces, paths.audit].map((path) => ({
    what: `${path.split('/').at(-1)}: ${what}`,
    path,
    body,
    error: 'invalid_json' as const,
    issues: [' not_json'],
  })),
);

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const deeplyNested = (what: string, path: string, body: string): RejectedRequest => ({ what, path, body, issues: [' too_deep'] });

/** Bodies nested deeper than the server reads. */
export const DEEP_BODIES: RejectedRequest[] = [
  deeplyNested('101 levels of objects in an audit entry', paths.audit, entryWith(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)),
  deeplyNested('101 levels of lists in an audit entry', paths.audit, entryWith(`{"a":${nested(99)}}`)),
  deeplyNested('1,001 levels in a trace', paths.traces, `{"trace_id":"a","metadata":{"a":${nested(999)}}}`),
  deeplyNested('1,001 levels in a tool result', paths.traces, spanWith(`"tool_result":${nested(998)}`)),
  deeplyNested('1,001 levels in a member that is ignored', paths.telemetry, `{"trace_id":"a","outcome":"b","x":${nested(1000)}}`),
  deeplyNested('1,001 levels in an evaluation', paths.evaluations, `{"name":"a","notes":${nested(1000)}}`),
  deeplyNested('1,001 levels in a promotion check', paths.promotionCheck, `{"agent_name":${nested(1000)}}`),
  deeplyNested('half a million levels', paths.traces, nested(500_000)),
  { what: '5 million levels', path: paths.traces, body: nested(5_000_000), issues: [' too_many_values'] },
  deeplyNested('900,000 nested objects', paths.telemetry, `${'{"a":'.repeat(900_000)}1${'}'.repeat(900_000)}`),
  deeplyNested('90,000 levels in an audit entry', paths.audit, entryWith(nested(90_000))),
  {
    what: 'half a million levels in an audit entry',
    path: paths.audit,
    body: entryWith(nested(500_000)),
    issues: [' too_many_values'],
  },
  {
    what: '900,000 levels that are never closed',
    path: paths.traces,
    body: '['.repeat(900_000),
    error: 'invalid_json',
    issues: [' not_json'],
  },
];

const strictEntry = (what: string, members: string, ...issues: string[]): RejectedRequest => ({
  what,
  path: paths.audit,
  body: `{"actor":"a","action":"b",${members}}`,
  issues,
});

/** Values that JSON parsers change silently, sent to strict endpoints. */
export const JSON_CHANGED_BY_PARSERS: RejectedRequest[] = [
  strictEntry('a member twice', '"actor":"c"', '/actor repeated_member'),
  strictEntry('a member twice, once escaped', '"\\u0061ctor":"c"', '/actor repeated_member'),
  strictEntry(
    'a member three times',
    '"subject":"x","subject":"y","subject":"z"',
    '/subject repeated_member',
    '/subject repeated_member',
  ),
  strictEntry('a member twice in metadata', '"metadata":{"a":1,"b":{"c":[{"d":1,"d":1}]}}', '/metadata/b/c/0/d repeated_member'),
  strictEntry('__proto__ twice', '"metadata":{"__proto__":1,"__proto__":2}', '/metadata/__proto__ repeated_member'),
  strictEntry('12345678901234567890', '"metadata":{"n":12345678901234567890}', '/metadata/n inexact_number'),
  strictEntry('0.1234567890123456789', '"metadata":{"n":0.1234567890123456789}', '/metadata/n inexact_number'),
  strictEntry('1e-400', '"metadata":{"n":[1e-400]}', '/metadata/n/0 inexact_number'),
  strictEntry('1e400', '"metadata":{"n":1e400}', '/metadata/n inexact_number'),
  strictEntry('2^53+1', '"metadata":{"n":9007199254740993}', '/metadata/n inexact_number'),
  strictEntry('a number of 900,000 digits', `"metadata":{"n":0.1${'0'.repeat(900_000)}1}`, '/metadata/n inexact_number'),
  strictEntry('-0', '"metadata":{"n":-0}', '/metadata/n inexact_number'),
  strictEntry('-0.0', '"metadata":{"n":-0.0}', '/metadata/n inexact_number'),
  strictEntry('an inexact number in an unknown member', '"n":1e400', '/n inexact_number', '/n unknown_member'),
  strictEntry('a lone surrogate in a text', '"rationale":"a\\ud83d"', '/rationale lone_surrogate'),
  strictEntry('a lone surrogate in metadata', '"metadata":{"a":["\\udc00"]}', '/metadata/a/0 lone_surrogate'),
  strictEntry('a lone surrogate in a member name', '"metadata":{"\\ud800":1}', '/metadata/\ufffd lone_surrogate'),
  {
    what: 'a threshold given twice: reports it instead of using the last one',
    path: paths.promotionCheck,
    body: '{"agent_name":"support-bot","min_pass_rate":95,"min_pass_rate":80}',
    issues: ['/min_pass_rate repeated_member'],
  },
  {
    what: 'a pass rate with more digits than a double can represent',
    path: paths.evaluations,
    body: '{"name":"n","pass_rate":79.99999999999999999}',
    issues: ['/pass_rate inexact_number'],
    messagePattern: /is not exact: .*; send it with fewer digits$/,
  },
  {
    what: 'an age of 2^53+1 hours',
    path: paths.promotionCheck,
    body: '{"agent_name":"a","max_age_hours":9007199254740993}',
    issues: ['/max_age_hours inexact_number', '/max_age_hours too_large'],
  },
];

/** Numbers and a duplicate member that a careless parser misinterprets, sent to a tolerant endpoint. */
export const MISREAD_VALUES: RejectedRequest[] = [
  ['1e400 tokens', '"prompt_tokens":1e400', '/prompt_tokens wrong_type'],
  ['2^53 tokens', '"prompt_tokens":9007199254740992', '/prompt_tokens too_large'],
  ['2^53+1 tokens', '"prompt_tokens":9007199254740993', '/prompt_tokens too_large'],
  ['12345678901234567890 milliseconds', '"latency_ms":12345678901234567890', '/latency_ms too_large'],
  ['a cost of 1e400', '"cost_usd":1e400', '/cost_usd wrong_type'],
  [
    'a cost of -1e-400, which is zero except for its sign, and a count of -1',
    '"cost_usd":-1e-400,"total_tokens":-1',
    '/total_tokens too_small',
  ],
  ['a duplicate member whose last value is wrong', '"agent_name":"a","agent_name":7', '/agent_name wrong_type'],
].map(([what, members, issue]) => ({
  what: what!,
  path: paths.traces,
  body: `{"trace_id":"a",${members}}`,
  issues: [issue!],
}));

/** Members whose names are properties of every JavaScript object. The server must treat them as data only. */
export const PROTOTYPE_MEMBERS: RejectedRequest[] = [
  {
    what: 'a trace whose __proto__ contains all required members',
    path: paths.traces,
    body: '{"__proto__":{"trace_id":"a"}}',
    issues: ['/trace_id required'],
  },
  {
    what: 'an event whose constructor contains all required members',
    path: paths.telemetry,
    body: '{"constructor":{"prototype":{"trace_id":"a","outcome":"b"}}}',
    issues: ['/trace_id required', '/outcome required'],
  },
  strictEntry('__proto__ in an audit entry', '"__proto__":{"subject":"x"}', '/__proto__ unknown_member'),
  strictEntry('constructor in an audit entry', '"constructor":1', '/constructor unknown_member'),
  strictEntry(
    'toString and hasOwnProperty in an audit entry',
    '"toString":1,"hasOwnProperty":2',
    '/toString unknown_member',
    '/hasOwnProperty unknown_member',
  ),
  {
    what: 'a promotion check whose __proto__ names the agent',
    path: paths.promotionCheck,
    body: '{"__proto__":{"agent_name":"support-bot"}}',
    issues: ['/__proto__ unknown_member', ' agent_missing'],
  },
];

function entryWith(metadata: string): string {
  return `{"actor":"a","action":"b","metadata":${metadata}}`;
}

function spanWith(member: string): string {
  return `{"trace_id":"a","spans":[{"span_id":"s","kind":"tool","name":"n",${member}}]}`;
}
