import { paths } from '../harness/test-server.ts';
import { GOOD, type RejectedRequest } from './rejections.ts';

/** Wrong values for a kind of member, each with the code of the only issue that it causes. */
type WrongValues = readonly (readonly [what: string, value: unknown, code: string])[];

const UUID = '0198f1c2-7d3e-7a41-9b1e-3f2a5c6d7e8f';

/** The kinds of members in the contract, each with wrong values. Written by hand, not derived from the schemas. */
const KINDS = {
  label: [
    ['empty', '', 'too_short'],
    ['a number', 7, 'wrong_type'],
    ['a list', ['x'], 'wrong_type'],
    ['513 characters', 'x'.repeat(513), 'too_long'],
    ['a line break', 'two\nlines', 'bad_characters'],
  ],
  text: [
    ['a number', 7, 'wrong_type'],
    ['an object', { text: 'x' }, 'wrong_type'],
    ['65,537 characters', 'x'.repeat(65_537), 'too_long'],
  ],
  count: [
    ['a string of digits', '7', 'wrong_type'],
    ['a fraction', 1.5, 'wrong_type'],
    ['true', true, 'wrong_type'],
    ['negative', -1, 'too_small'],
    ['2^53', 2 ** 53, 'too_large'],
  ],
  hours: [
    ['a string of digits', '72', 'wrong_type'],
    ['a fraction', 1.5, 'wrong_type'],
    ['0', 0, 'too_small'],
    ['8761', 8761, 'too_large'],
  ],
  cost: [
    ['a string', '0.1', 'wrong_type'],
    ['negative', -0.01, 'too_small'],
  ],
  percentage: [
    ['a string', '80', 'wrong_type'],
    ['below 0', -0.1, 'too_small'],
    ['above 100', 100.1, 'too_large'],
  ],
  number: [
    ['a word', 'high', 'wrong_type'],
    ['a list', [1], 'wrong_type'],
  ],
  uuid: [
    ['a number', 7, 'wrong_type'],
    ['empty', '', 'bad_format'],
    ['a name', 'support-bot', 'bad_format'],
    ['without hyphens', UUID.replaceAll('-', ''), 'bad_format'],
  ],
  dateTime: [
    ['seconds since 1970', 1_780_000_000, 'wrong_type'],
    ['empty', '', 'bad_format'],
    ['a day alone', '2026-11-20', 'bad_format'],
    ['30 February', '2026-02-30T00:00:00Z', 'bad_format'],
  ],
  date: [
    ['a number', 20261120, 'wrong_type'],
    ['empty', '', 'bad_format'],
    ['30 February', '2026-02-30', 'bad_format'],
    ['one-digit month', '2026-1-01', 'bad_format'],
    ['with a time', '2026-11-20T00:00:00Z', 'bad_format'],
    ['a year of five digits', '12026-01-01', 'bad_format'],
  ],
  object: [
    ['a list', [], 'wrong_type'],
    ['JSON in a string', '{}', 'wrong_type'],
    ['false', false, 'wrong_type'],
  ],
  list: [
    ['an object', {}, 'wrong_type'],
    ['a string', '[]', 'wrong_type'],
  ],
  boolean: [
    ['a word', 'true', 'wrong_type'],
    ['a number', 1, 'wrong_type'],
  ],
  digest: [
    ['a number', 7, 'wrong_type'],
    ['empty', '', 'bad_format'],
    ['a tag', 'support-bot:1.4', 'bad_format'],
    ['an image with its digest', `support-bot@sha256:${'a'.repeat(64)}`, 'bad_format'],
    ['capitals', `sha256:${'A'.repeat(64)}`, 'bad_format'],
    ['63 digits', `sha256:${'a'.repeat(63)}`, 'bad_format'],
    ['a short commit', 'gitCommit:4caa85f', 'bad_format'],
    ['another algorithm', `md5:${'a'.repeat(32)}`, 'bad_format'],
    ['a trailing line break', `sha256:${'a'.repeat(64)}\n`, 'bad_format'],
  ],
  sha256: [
    ['a number', 7, 'wrong_type'],
    ['with its algorithm', `sha256:${'a'.repeat(64)}`, 'bad_format'],
    ['capitals', 'A'.repeat(64), 'bad_format'],
  ],
  url: [
    ['a number', 7, 'wrong_type'],
    ['a path', '/runs/7', 'bad_format'],
    ['a script', 'javascript:alert(1)', 'bad_format'],
    ['a file', 'file:///etc/passwd', 'bad_format'],
    ['a password', 'https://ada:secret@ci.example.com/', 'bad_format'],
    ['a line break', 'https://ci.example.com/\nx', 'bad_format'],
    ['2,049 characters', `https://ci.example.com/${'x'.repeat(2026)}`, 'too_long'],
  ],
  content: [
    ['an object', { type: 'text' }, 'wrong_type'],
    ['a number', 7, 'wrong_type'],
  ],
  choice: [
    ['another word', 'perhaps', 'not_one_of'],
    ['in capitals', 'SUCCESS', 'not_one_of'],
    ['empty', '', 'not_one_of'],
    ['a number', 7, 'wrong_type'],
  ],
} as const satisfies Record<string, WrongValues>;

/** An object in a body, with the kind of each member. `!` marks required members. */
interface Position {
  name: string;
  path: string;
  /** The JSON Pointer of the object in the body. */
  prefix: string;
  /** A complete, valid body with the given members. The value undefined removes a member. */
  body: (members: Record<string, unknown>) => unknown;
  members: Record<string, keyof typeof KINDS | `${keyof typeof KINDS}!`>;
}

const usage = { prompt_tokens: 'count', completion_tokens: 'count', total_tokens: 'count', cost_usd: 'cost' } as const;
const times = { started_at: 'dateTime', ended_at: 'dateTime' } as const;
const agent = { agent_id: 'uuid', agent_name: 'label' } as const;
const message = { role: 'choice!', content: 'content', name: 'label', tool_call_id: 'label', tool_calls: 'list' } as const;
const span = { span_id: 's2', kind: 'tool', name: 'find_order' };

/** The positions to test: bodies and their nested objects. */
export const POSITIONS: readonly Position[] = [
  {
    name: 'trace',
    path: paths.traces,
    prefix: '',
    body: (members) => ({ ...GOOD.trace, ...members }),
    members: {
      ...{ trace_id: 'label!', outcome: 'choice', ...agent, session_id: 'label', external_user_id: 'label', latency_ms: 'count' },
      ...{ detail: 'text', error: 'text', ...times, metadata: 'object', ...usage, spans: 'list' },
    },
  },
  {
    name: 'span',
    path: paths.traces,
    prefix: '/spans/1',
    body: (members) => ({ ...GOOD.trace, spans: [...GOOD.trace.spans, { ...span, ...members }] }),
    members: {
      ...{ span_id: 'label!', parent_span_id: 'label', kind: 'choice!', name: 'label!', status: 'label', model: 'label' },
      ...{ provider: 'label', ...usage, messages: 'list', error: 'text', latency_ms: 'count', ...times, metadata: 'object' },
    },
  },
  {
    name: 'message of a span',
    path: paths.traces,
    prefix: '/spans/0/messages/1',
    body: (members) => ({ ...GOOD.trace, spans: [{ ...span, messages: [{ role: 'user' }, { role: 'tool', ...members }] }] }),
    members: message,
  },
  {
    name: 'telemetry event',
    path: paths.telemetry,
    prefix: '',
    body: (members) => ({ ...GOOD.event, ...members }),
    members: {
      ...{ trace_id: 'label!', outcome: 'label!', status: 'label', latency_ms: 'count', tool_count: 'count', detail: 'text' },
      ...{ ...agent, model: 'label', provider: 'label', ...usage, messages: 'list', error: 'text', session_id: 'label' },
      ...{ external_user_id: 'label', metadata: 'object', ...times },
    },
  },
  {
    name: 'event of a batch',
    path: paths.telemetry,
    prefix: '/events/1',
    body: (members) => ({ events: [GOOD.event, { ...GOOD.event, ...members }, GOOD.event] }),
    members: { trace_id: 'label!', outcome: 'label!', agent_id: 'uuid', total_tokens: 'count', started_at: 'dateTime' },
  },
  {
    name: 'message of an event',
    path: paths.telemetry,
    prefix: '/messages/0',
    body: (members) => ({ ...GOOD.event, messages: [{ role: 'user', ...members }] }),
    members: { role: 'choice!', content: 'content' },
  },
  {
    name: 'evaluation',
    path: paths.evaluations,
    prefix: '',
    body: (members) => ({ ...GOOD.evaluation, ...members }),
    members: {
      ...{ name: 'label!', ...agent, harness_id: 'uuid', category: 'label', status: 'choice', pass_rate: 'percentage' },
      ...{ notes: 'text', severity_threshold: 'number' },
    },
  },
  {
    name: 'detailed evaluation',
    path: paths.detailedEvaluations,
    prefix: '',
    body: (members) => ({ ...GOOD.detailed, ...members }),
    members: {
      ...{ name: 'label!', ...agent, harness_id: 'uuid', category: 'label', status: 'choice', pass_rate: 'percentage' },
      ...{ notes: 'text', severity_threshold: 'number', evaluated_at: 'dateTime', cases: 'object', skipped_excluded: 'boolean' },
      ...{ partial: 'boolean', completeness: 'choice', blocking_failures: 'list', max_severity: 'number', suite: 'object' },
      ...{ results_sha256: 'sha256', run_url: 'url', trace_ids: 'list', artifact: 'digest' },
    },
  },
  {
    name: 'cases of a detailed evaluation',
    path: paths.detailedEvaluations,
    prefix: '/cases',
    body: (members) => ({ name: 'nightly', cases: { total: 10, errored: 1, skipped: 1, ...members } }),
    members: { total: 'count!', errored: 'count', skipped: 'count' },
  },
  {
    name: 'suite of a detailed evaluation',
    path: paths.detailedEvaluations,
    prefix: '/suite',
    body: (members) => ({ ...GOOD.detailed, suite: { name: 'safety', ...members } }),
    members: { name: 'label!', version: 'label', digest: 'digest' },
  },
  {
    name: 'audit entry',
    path: paths.audit,
    prefix: '',
    body: (members) => ({ ...GOOD.entry, ...members }),
    members: {
      ...{ actor: 'label!', action: 'label!', subject: 'text', rationale: 'text', framework: 'label', trace_id: 'label' },
      ...{ agent_id: 'uuid', retention_until: 'date', metadata: 'object' },
    },
  },
  {
    name: 'promotion check',
    path: paths.promotionCheck,
    prefix: '',
    body: (members) => ({ ...GOOD.check, ...members }),
    members: { ...agent, harness_id: 'uuid', min_pass_rate: 'percentage', max_age_hours: 'hours' },
  },
];

/** Requests with one fault each: every member with every wrong value of its kind, and every required member absent or null. */
export const listWrongMembers = ({ path, prefix, body, members }: Position): RejectedRequest[] =>
  Object.entries(members).flatMap(([member, markedKind]) => {
    const rejection = (what: string, value: unknown, code: string): RejectedRequest => ({
      what: `${member}: ${what}`,
      path,
      body: body({ [member]: value }),
      issues: [`${prefix}/${member} ${code}`],
    });
    const wrong: WrongValues = KINDS[markedKind.replace('!', '') as keyof typeof KINDS];
    const required = markedKind.endsWith('!')
      ? [rejection('absent', undefined, 'required'), rejection('null', null, 'wrong_type')]
      : [];
    return [...required, ...wrong.map(([what, value, code]) => rejection(what, value, code))];
  });
