import { randomUUID } from 'node:crypto';
import { beforeAll } from 'vitest';
import { paths } from '../harness/test-server.ts';
import { CONTRADICTIONS, LISTS, SUMS, UNKNOWN_MEMBERS, WHOLE_BODIES } from './bodies.ts';
import { GOOD, type RuleViolationError, refuses, worldOfRefusals } from './refusals.ts';
import { BAD_CHARACTERS, DATE_TIMES, DATES, PERSONAL_DATA, TOO_LONG, UUIDS } from './values.ts';

const world = worldOfRefusals();
const KNOWN = randomUUID();

beforeAll(async () => {
  const post = (path: string, body: unknown) => world.server.post(path, world.key, body);
  const big = { span_id: 'big', kind: 'llm', name: 'plan', total_tokens: Number.MAX_SAFE_INTEGER, cost_usd: 1 };
  await post(paths.traces, { trace_id: 'full', spans: [big] });
  await post(paths.traces, { trace_id: 'half', prompt_tokens: 1 });
  await post(paths.traces, { trace_id: 'of-known', agent_id: KNOWN, agent_name: 'known' });
});

refuses('labels not contain control characters or lone surrogates', world, BAD_CHARACTERS);
refuses('lengths count code points, and a text of megabytes costs no time', world, TOO_LONG);
refuses('a date-time exists and has the form of RFC 3339', world, DATE_TIMES);
refuses('a day to keep until exists', world, DATES);
refuses('a UUID has its plain form', world, UUIDS);
refuses('a user identifier is no personal data', world, PERSONAL_DATA);
refuses('a body is an object', world, WHOLE_BODIES);
refuses('lists are held to their bounds, and all that is wrong is named up to 100', world, LISTS);
refuses('what decides or is hashed ignores no member', world, UNKNOWN_MEMBERS);
refuses('a detailed evaluation does not contradict itself', world, CONTRADICTIONS);
refuses('a sum beyond 2^53-1 is refused, by merging too', world, SUMS);

const of = (what: string, path: string, body: object, issues: string[]): RuleViolationError => ({ what, path, body, issues });
const stranger = randomUUID();
refuses('an agent is who it is said to be', world, [
  of('trace: an unknown id alone', paths.traces, { trace_id: 'a', agent_id: stranger }, ['/agent_id unknown_agent']),
  of('event: an unknown id alone', paths.telemetry, { ...GOOD.event, agent_name: null, agent_id: stranger }, [
    '/agent_id unknown_agent',
  ]),
  of(
    'batch: an unknown id registers nobody else either',
    paths.telemetry,
    {
      events: [
        { ...GOOD.event, agent_name: 'never registered' },
        { trace_id: 'x', outcome: 'ok', agent_id: stranger },
      ],
    },
    ['/events/1/agent_id unknown_agent'],
  ),
  of('evaluation: an unknown id alone', paths.evaluations, { name: 'n', agent_id: stranger }, ['/agent_id unknown_agent']),
  of('audit: an unknown id', paths.audit, { ...GOOD.entry, agent_id: stranger }, ['/agent_id unknown_agent']),
  of('a known id with another name', paths.traces, { trace_id: 'a', agent_id: KNOWN, agent_name: 'support-bot' }, [
    '/agent_name agent_mismatch',
  ]),
  of('a known id with a new name', paths.evaluations, { name: 'n', agent_id: KNOWN, agent_name: 'Known' }, [
    '/agent_name agent_mismatch',
  ]),
  of('a known name with a new id', paths.evaluations, { name: 'n', agent_id: stranger, agent_name: 'known' }, [
    '/agent_id agent_mismatch',
  ]),
  of('one batch, one id, two names', paths.telemetry, twoNames(stranger), ['/events/1/agent_name agent_mismatch']),
  of('another agent on a known trace', paths.traces, { trace_id: 'of-known', agent_name: 'support-bot' }, [
    '/agent_name agent_mismatch',
  ]),
  of('a new agent on a known trace', paths.traces, { trace_id: 'of-known', agent_name: 'never registered' }, [
    '/agent_name agent_mismatch',
  ]),
  of('promotion check: neither', paths.promotionCheck, { min_pass_rate: 80 }, [' agent_missing']),
  of('promotion check: neither, and a bad bound: both are named', paths.promotionCheck, { max_age_hours: 0 }, [
    ' agent_missing',
    '/max_age_hours too_small',
  ]),
  of('promotion check: not of one agent', paths.promotionCheck, { agent_id: KNOWN, agent_name: 'support-bot' }, [
    '/agent_name agent_mismatch',
  ]),
]);

function twoNames(id: string): object {
  return { events: ['first name', 'second name'].map((name) => ({ ...GOOD.event, agent_id: id, agent_name: name })) };
}
