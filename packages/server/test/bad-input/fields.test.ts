import { randomUUID } from 'node:crypto';
import { beforeAll } from 'vitest';
import { paths } from '../harness/test-server.ts';
import { CONTRADICTIONS, EXCESSIVE_SUMS, INVALID_LISTS, NON_OBJECT_BODIES, UNKNOWN_MEMBERS } from './bodies.ts';
import { GOOD, type RejectedRequest, setUpRejections, testRejections } from './rejections.ts';
import { BAD_CHARACTERS, INVALID_DATE_TIMES, INVALID_DATES, INVALID_UUIDS, PERSONAL_DATA, TOO_LONG } from './values.ts';

const target = setUpRejections();
const KNOWN_AGENT_ID = randomUUID();

beforeAll(async () => {
  const post = (path: string, body: unknown) => target.server.post(path, target.key, body);
  const big = { span_id: 'big', kind: 'llm', name: 'plan', total_tokens: Number.MAX_SAFE_INTEGER, cost_usd: 1 };
  await post(paths.traces, { trace_id: 'full', spans: [big] });
  await post(paths.traces, { trace_id: 'half', prompt_tokens: 1 });
  await post(paths.traces, { trace_id: 'of-known', agent_id: KNOWN_AGENT_ID, agent_name: 'known' });
});

testRejections('rejects control characters and lone surrogates in labels', target, BAD_CHARACTERS);
testRejections('counts lengths in code points and rejects texts of a megabyte or more', target, TOO_LONG);
testRejections('rejects date-times that do not exist or do not follow RFC 3339', target, INVALID_DATE_TIMES);
testRejections('rejects retention dates that do not exist or have another format', target, INVALID_DATES);
testRejections('rejects UUIDs that are not in the plain format', target, INVALID_UUIDS);
testRejections('rejects personal data in a user identifier', target, PERSONAL_DATA);
testRejections('rejects bodies that are not objects', target, NON_OBJECT_BODIES);
testRejections('enforces the limits of lists and reports up to 100 issues', target, INVALID_LISTS);
testRejections('rejects unknown members of evaluations, audit entries and promotion checks', target, UNKNOWN_MEMBERS);
testRejections('rejects a detailed evaluation that contradicts itself or has an impossible time', target, CONTRADICTIONS);
testRejections('rejects sums beyond 2^53-1, also when a merge causes them', target, EXCESSIVE_SUMS);

const rejectionCase = (what: string, path: string, body: object, issues: string[]): RejectedRequest => ({
  what,
  path,
  body,
  issues,
});
const unknownId = randomUUID();
testRejections('rejects agents that are unknown or missing, or whose ID and name do not match', target, [
  rejectionCase('trace: an unknown ID alone', paths.traces, { trace_id: 'a', agent_id: unknownId }, ['/agent_id unknown_agent']),
  rejectionCase('event: an unknown ID alone', paths.telemetry, { ...GOOD.event, agent_name: null, agent_id: unknownId }, [
    '/agent_id unknown_agent',
  ]),
  rejectionCase(
    'batch: an event with an unknown ID prevents the registration of the other agent too',
    paths.telemetry,
    {
      events: [
        { ...GOOD.event, agent_name: 'never registered' },
        { trace_id: 'x', outcome: 'ok', agent_id: unknownId },
      ],
    },
    ['/events/1/agent_id unknown_agent'],
  ),
  rejectionCase('evaluation: an unknown ID alone', paths.evaluations, { name: 'n', agent_id: unknownId }, [
    '/agent_id unknown_agent',
  ]),
  rejectionCase('audit: an unknown ID', paths.audit, { ...GOOD.entry, agent_id: unknownId }, ['/agent_id unknown_agent']),
  rejectionCase(
    'a known ID with another name',
    paths.traces,
    { trace_id: 'a', agent_id: KNOWN_AGENT_ID, agent_name: 'support-bot' },
    ['/agent_name agent_mismatch'],
  ),
  rejectionCase('a known ID with a new name', paths.evaluations, { name: 'n', agent_id: KNOWN_AGENT_ID, agent_name: 'Known' }, [
    '/agent_name agent_mismatch',
  ]),
  rejectionCase('a known name with a new ID', paths.evaluations, { name: 'n', agent_id: unknownId, agent_name: 'known' }, [
    '/agent_id agent_mismatch',
  ]),
  rejectionCase('one batch with one ID and two names', paths.telemetry, eventsWithTwoNames(unknownId), [
    '/events/1/agent_name agent_mismatch',
  ]),
  rejectionCase('another agent on a known trace', paths.traces, { trace_id: 'of-known', agent_name: 'support-bot' }, [
    '/agent_name agent_mismatch',
  ]),
  rejectionCase('a new agent on a known trace', paths.traces, { trace_id: 'of-known', agent_name: 'never registered' }, [
    '/agent_name agent_mismatch',
  ]),
  rejectionCase('promotion check: neither ID nor name', paths.promotionCheck, { min_pass_rate: 80 }, [' agent_missing']),
  rejectionCase(
    'promotion check: neither ID nor name, and a bad limit: reports both',
    paths.promotionCheck,
    { max_age_hours: 0 },
    [' agent_missing', '/max_age_hours too_small'],
  ),
  rejectionCase(
    'promotion check: the ID of one agent and the name of another',
    paths.promotionCheck,
    { agent_id: KNOWN_AGENT_ID, agent_name: 'support-bot' },
    ['/agent_name agent_mismatch'],
  ),
]);

function eventsWithTwoNames(id: string): object {
  return { events: ['first name', 'second name'].map((name) => ({ ...GOOD.event, agent_id: id, agent_name: name })) };
}
