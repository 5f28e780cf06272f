import { paths } from '../harness/test-server.ts';
import { GOOD, type RejectedRequest } from './rejections.ts';

const span = (id: string, members: object = {}) => ({ span_id: id, kind: 'llm', name: 'plan', ...members });
const spans = (count: number) => Array.from({ length: count }, (_, index) => span(`s${index}`));
const trace = (what: string, members: object, issues: readonly string[]): RejectedRequest => ({
  what,
  path: paths.traces,
  body: { ...GOOD.trace, ...members },
  issues,
});
const detailed = (what: string, members: object, issues: readonly string[], messagePattern?: RegExp): RejectedRequest => ({
  what,
  path: paths.detailedEvaluations,
  body: { ...GOOD.detailed, ...members },
  issues,
  ...(messagePattern === undefined ? {} : { messagePattern }),
});
const telemetry = (what: string, body: unknown, issues: readonly string[]): RejectedRequest => ({
  what,
  path: paths.telemetry,
  body,
  issues,
});

const NOT_OBJECTS: [string, unknown][] = [
  ['null', 'null'],
  ['true', 'true'],
  ['a number', '7'],
  ['a string', '"trace"'],
  ['an empty list', '[]'],
  ['a list with a valid object', [GOOD.trace]],
];

/** JSON values that are not objects, at each endpoint. */
export const NON_OBJECT_BODIES: RejectedRequest[] = Object.entries(paths).flatMap(([endpoint, path]) =>
  NOT_OBJECTS.map(([what, body]) => ({ what: `${endpoint}: ${what}`, path, body, issues: [' wrong_type'] })),
);

/** Lists that are too long, too short, or contain wrong values; bodies with many faults; telemetry without events. */
export const INVALID_LISTS: RejectedRequest[] = [
  trace('501 spans', { spans: spans(501) }, ['/spans too_many_items']),
  trace('a span that is null', { spans: [span('a'), null] }, ['/spans/1 wrong_type']),
  trace('spans that are lists', { spans: [[], []] }, ['/spans/0 wrong_type', '/spans/1 wrong_type']),
  trace('a duplicate span_id', { spans: [span('a'), span('b'), span('a')] }, ['/spans/2/span_id repeated_span_id']),
  trace('a span_id three times', { spans: [span('a'), span('a'), span('a')] }, [
    '/spans/1/span_id repeated_span_id',
    '/spans/2/span_id repeated_span_id',
  ]),
  trace('a duplicate span_id and another fault: reports both', { spans: [span('a'), span('a', { kind: 'LLM' })] }, [
    '/spans/1/kind not_one_of',
    '/spans/1/span_id repeated_span_id',
  ]),
  trace('a message that is a string', { spans: [span('a', { messages: ['hi'] })] }, ['/spans/0/messages/0 wrong_type']),
  trace('a list of messages inside the list of messages', { spans: [span('a', { messages: [[{ role: 'user' }]] })] }, [
    '/spans/0/messages/0 wrong_type',
  ]),
  trace(
    'faults in many places: reports all of them',
    { trace_id: '', outcome: 'ok', spans: [span('a', { prompt_tokens: -1 }), { span_id: 7 }], metadata: [] },
    [
      ...['/trace_id too_short', '/outcome not_one_of', '/metadata wrong_type', '/spans/0/prompt_tokens too_small'],
      ...['/spans/1/span_id wrong_type', '/spans/1/kind required', '/spans/1/name required'],
    ],
  ),
  trace(
    'more than 100 faults: reports the first 100',
    { spans: Array.from({ length: 60 }, (_, index) => ({ span_id: `s${index}` })) },
    Array.from({ length: 50 }, (_, index) => [`/spans/${index}/kind required`, `/spans/${index}/name required`]).flat(),
  ),
  telemetry('no events', { events: [] }, ['/events too_few_items']),
  telemetry('201 events', { events: Array(201).fill(GOOD.event) }, ['/events too_many_items']),
  telemetry('events that are one event', { events: GOOD.event }, ['/events wrong_type']),
  telemetry('events that are a string, in a valid event', { ...GOOD.event, events: 'none' }, ['/events wrong_type']),
  telemetry('events within an event of a batch', { events: [{ events: [GOOD.event] }] }, [
    '/events/0/trace_id required',
    '/events/0/outcome required',
  ]),
  telemetry(
    'a fault in the second of three events: stores none of them',
    { events: [GOOD.event, { trace_id: 'x' }, GOOD.event] },
    ['/events/1/outcome required'],
  ),
  telemetry('a fault in a message of an event', { events: [{ ...GOOD.event, messages: [{ role: 'robot' }] }] }, [
    '/events/0/messages/0/role not_one_of',
  ]),
  ...['blocking_failures', 'trace_ids'].flatMap((member) => [
    detailed(`101 ${member}`, { [member]: Array(101).fill('x') }, [`/${member} too_many_items`]),
    detailed(
      `${member} that are not labels`,
      { [member]: ['', 7, 'a\n', null] },
      ['/0 too_short', '/1 wrong_type', '/2 bad_characters', '/3 wrong_type'].map((issue) => `/${member}${issue}`),
      new RegExp(`${member}\\[1\\] must be a string`),
    ),
  ]),
  telemetry('neither an event nor a list of events', {}, ['/trace_id required', '/outcome required']),
];

/** Members that the contract does not name, at endpoints that reject such members. */
export const UNKNOWN_MEMBERS: RejectedRequest[] = [
  [paths.promotionCheck, { min_pass_rat: 95 }, '/min_pass_rat', /did you mean min_pass_rate\?/],
  [paths.promotionCheck, { minPassRate: 95 }, '/minPassRate', /did you mean min_pass_rate\?/],
  [paths.promotionCheck, { max_age_hour: 1 }, '/max_age_hour', /did you mean max_age_hours\?/],
  [paths.promotionCheck, { AGENT_NAME: 'x' }, '/AGENT_NAME', /did you mean agent_name\?/],
  [paths.evaluations, { passrate: 90 }, '/passrate', /did you mean pass_rate\?/],
  [paths.evaluations, { evaluated_at: '2026-11-20T09:30:00Z' }, '/evaluated_at', /^(?!.*did you mean)/],
  [paths.detailedEvaluations, { evaluatedAt: '2026-11-20T09:30:00Z' }, '/evaluatedAt', /did you mean evaluated_at\?/],
  [paths.detailedEvaluations, { cases: { total: 1, pased: 1 } }, '/cases/pased', /did you mean passed\?/],
  [paths.detailedEvaluations, { suite: { name: 'x', verson: 1 } }, '/suite/verson', /did you mean version\?/],
  [paths.evaluations, { metadata: {} }, '/metadata', /^(?!.*did you mean)/],
  [paths.audit, { rational: 'x' }, '/rational', /did you mean rationale\?/],
  [paths.audit, { outcome: 'x' }, '/outcome', /not a member/],
  [paths.audit, { '': 1 }, '/', /not a member/],
  [paths.audit, { 'a/b~c': 1 }, '/a~1b~0c', /not a member/],
  [paths.audit, { ['x'.repeat(5000)]: 1 }, `/${'x'.repeat(5000)}`, /not a member/],
].map(([path, extra, pointer, messagePattern]) => ({
  what: `${path} ${String(pointer).slice(0, 40)}`,
  path: path as string,
  body: {
    ...(path === paths.audit ? GOOD.entry : (path as string).endsWith('/evaluations') ? GOOD.evaluation : GOOD.check),
    ...(extra as object),
  },
  issues: [`${pointer} unknown_member`],
  messagePattern: messagePattern as RegExp,
}));

UNKNOWN_MEMBERS.push({
  what: '9,000 unknown members: reports 98 of them and two missing members',
  path: paths.audit,
  body: Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`m${index}`, 1])),
  issues: ['/actor required', '/action required', ...Array.from({ length: 98 }, (_, index) => `/m${index} unknown_member`)],
});

/** Contradictory counts, rates and completeness, and impossible times, of a detailed evaluation. */
export const CONTRADICTIONS: RejectedRequest[] = [
  detailed(
    'a total above the sum of its parts',
    { cases: { total: 11, passed: 9, failed: 1 } },
    ['/cases/total contradiction'],
    /which is 10/,
  ),
  detailed('a total below the sum of its parts', { cases: { total: 9, passed: 9, errored: 1 } }, ['/cases/total contradiction']),
  detailed('a total smaller than the cases without a score', { cases: { total: 1, errored: 1, skipped: 1 } }, [
    '/cases/total contradiction',
  ]),
  detailed('failed without passed', { cases: { total: 1, failed: 1 } }, ['/cases/passed required']),
  detailed(
    'parts whose sum exceeds 2^53-1, the largest exact integer',
    { cases: { total: Number.MAX_SAFE_INTEGER, passed: Number.MAX_SAFE_INTEGER, failed: 1 } },
    ['/cases/total contradiction'],
  ),
  detailed(
    'a rate above the rate of its cases',
    { pass_rate: 90.11 },
    ['/pass_rate contradiction'],
    /9 of 10 cases passed, which is 90/,
  ),
  detailed('a rate below the rate of its cases', { pass_rate: 89.89 }, ['/pass_rate contradiction']),
  detailed(
    'a rate that excludes skipped cases, although skipped_excluded is not set',
    { pass_rate: 100, cases: { total: 10, passed: 9, skipped: 1 } },
    ['/pass_rate contradiction'],
  ),
  detailed(
    'a rate that excludes errored cases, although only skipped cases may be excluded',
    { pass_rate: 100, skipped_excluded: true, cases: { total: 10, passed: 8, errored: 1, skipped: 1 } },
    ['/pass_rate contradiction'],
  ),
  detailed('a rate higher than the scored cases allow', { pass_rate: 95, cases: { total: 10, errored: 1 } }, [
    '/pass_rate contradiction',
  ]),
  detailed('a rate without cases', { pass_rate: 100, cases: { total: 0, passed: 0 } }, ['/pass_rate contradiction']),
  detailed(
    'a rate with skipped cases only',
    { pass_rate: 0, skipped_excluded: true, cases: { total: 3, passed: 0, skipped: 3 } },
    ['/pass_rate contradiction'],
  ),
  detailed('partial: true, but complete', { partial: true, completeness: 'complete' }, ['/completeness contradiction']),
  detailed('partial: true, but unknown', { partial: true, completeness: 'unknown' }, ['/completeness contradiction']),
  detailed('partial: false, but partial', { partial: false, completeness: 'partial' }, ['/completeness contradiction']),
  detailed('evaluated ten minutes in the future', { evaluated_at: new Date(Date.now() + 10 * 60_000).toISOString() }, [
    '/evaluated_at in_the_future',
  ]),
  detailed('evaluated before 1970', { evaluated_at: '1969-12-31T23:59:59Z' }, ['/evaluated_at too_small']),
  detailed('evaluated in the year 1', { evaluated_at: '0001-01-01T00:00:00Z' }, ['/evaluated_at too_small']),
];

const MAX = Number.MAX_SAFE_INTEGER;
const HALF_MAX = 2 ** 52;

/**
 * Sums above 2^53-1, the limit of the contract. The span `big` of the trace `full` already has 2^53-1 tokens and a cost of 1. The trace
 * `half` already has one supplied prompt token.
 */
export const EXCESSIVE_SUMS: RejectedRequest[] = [
  trace('total_tokens of two spans', { spans: [span('a', { total_tokens: MAX }), span('b', { total_tokens: 1 })] }, [
    '/total_tokens sum_too_large',
  ]),
  trace('prompt + completion of one span', { spans: [span('a', { prompt_tokens: HALF_MAX, completion_tokens: HALF_MAX })] }, [
    '/spans/0/total_tokens sum_too_large',
  ]),
  trace(
    'prompt + completion of two spans with a total: reports both spans',
    { total_tokens: 1, spans: ['a', 'b'].map((id) => span(id, { prompt_tokens: HALF_MAX, completion_tokens: HALF_MAX })) },
    ['/spans/0/total_tokens sum_too_large', '/spans/1/total_tokens sum_too_large'],
  ),
  trace(
    'prompt_tokens of two spans',
    { total_tokens: 1, spans: [span('a', { prompt_tokens: MAX }), span('b', { prompt_tokens: 1 })] },
    ['/prompt_tokens sum_too_large'],
  ),
  trace('prompt + completion of the trace', { prompt_tokens: MAX, completion_tokens: 1 }, ['/total_tokens sum_too_large']),
  trace('cost of two spans', { spans: [span('a', { cost_usd: MAX }), span('b', { cost_usd: 1 })] }, ['/cost_usd sum_too_large']),
  trace('the cost of one span beyond the limit of the sum', { spans: [span('a', { cost_usd: 1e300 })] }, [
    '/cost_usd sum_too_large',
  ]),
  telemetry('prompt + completion of an event', { ...GOOD.event, prompt_tokens: MAX, completion_tokens: 1 }, [
    '/total_tokens sum_too_large',
  ]),
  telemetry(
    'two events of a batch: reports both',
    {
      events: [
        GOOD.event,
        ...[HALF_MAX, MAX].map((tokens) => ({ ...GOOD.event, prompt_tokens: tokens, completion_tokens: HALF_MAX })),
      ],
    },
    ['/events/1/total_tokens sum_too_large', '/events/2/total_tokens sum_too_large'],
  ),
  trace('tokens when a span is merged into a known trace', { trace_id: 'full', spans: [span('more', { total_tokens: 1 })] }, [
    '/total_tokens sum_too_large',
  ]),
  trace('cost when a span is merged into a known trace', { trace_id: 'full', spans: [span('more', { cost_usd: MAX })] }, [
    '/cost_usd sum_too_large',
  ]),
  trace('completion_tokens whose sum with the earlier prompt_tokens is too large', { trace_id: 'half', completion_tokens: MAX }, [
    '/total_tokens sum_too_large',
  ]),
];
