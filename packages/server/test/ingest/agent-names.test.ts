import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startHousekeeping } from '../../src/background/housekeeping.ts';
import { rebuildAllEvidence } from '../harness/evidence-log.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

/** Requests that register agents: name, path, JSON Pointer of the object that names the agent, and a function that returns the body. */
const REGISTERING_REQUESTS = [
  ['a trace', paths.traces, '', (agent_name: string) => ({ trace_id: randomUUID(), agent_name })],
  ['a telemetry event', paths.telemetry, '', (agent_name: string) => ({ ...event(), agent_name })],
  [
    'an event of a batch',
    paths.telemetry,
    '/events/1',
    (agent_name: string) => ({ events: [event(), { ...event(), agent_name }] }),
  ],
  ['an evaluation', paths.evaluations, '', (agent_name: string) => ({ name: 'nightly', agent_name })],
  ['a detailed evaluation', paths.detailedEvaluations, '', (agent_name: string) => ({ name: 'nightly', agent_name })],
] as const;

const event = () => ({ trace_id: randomUUID(), outcome: 'success' });
const warning = ({ headers }: TestResponse): string | null => headers.get('countersign-warning');
const evaluate = (agent_name: string, headers: Record<string, string> = {}, usedKey = key) =>
  server.post(paths.evaluations, usedKey, { name: 'n', agent_name }, headers);
const check = (question: object, usedKey = key) => server.post(paths.promotionCheck, usedKey, question);
const agents = () =>
  server.database.sql<{ name: string }>('SELECT name FROM countersign.agents WHERE tenant_id = $1', [tenantId]);
/** Stores an agent as a server did before the rules for names existed. */
const storeUncheckedAgent = async (name: string, tenant = tenantId) => {
  await server.database.sql('INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, gen_random_uuid(), $2)', [
    tenant,
    name,
  ]);
  await rebuildAllEvidence(server);
};

const BAD_NAMES = [
  [
    'decomposed',
    'lettre\u0301',
    'not_normalized',
    'agent_name is not in Unicode NFC, first at U+0065 at position 6; send "lettr\u00e9"',
  ],
  ['a leading space', ' bot', 'white_space_at_end', 'U+0020 SPACE at position 1; send "bot"'],
  ['a trailing no-break space', 'bot\u00a0', 'white_space_at_end', 'U+00A0 NO-BREAK SPACE at position 4; send "bot"'],
  ['a trailing ideographic space', 'bot\u3000', 'white_space_at_end', 'U+3000 IDEOGRAPHIC SPACE at position 4; send "bot"'],
  ['a zero-width space', 'support\u200bbot', 'invisible_character', 'U+200B ZERO WIDTH SPACE at position 8; send "supportbot"'],
  ['a joiner', 'support\u200dbot', 'invisible_character', 'U+200D ZERO WIDTH JOINER at position 8'],
  ['a bidirectional control', 'bot\u202etob', 'invisible_character', 'U+202E RIGHT-TO-LEFT OVERRIDE at position 4'],
  ['tag characters', 'bot\u{E0061}', 'invisible_character', 'U+E0061 at position 4'],
  ['a soft hyphen', 'sup\u00adport', 'invisible_character', 'U+00AD SOFT HYPHEN at position 4'],
  ['a byte order mark', '\ufeffbot', 'invisible_character', 'U+FEFF BYTE ORDER MARK at position 1'],
] as const;

describe('the format of new names', () => {
  test.each(REGISTERING_REQUESTS)(
    '%s with an invalid name gets a 422 that explains the fault, and registers no agent',
    async (_, path, at, body) => {
      const before = (await agents()).length;
      for (const [, name, code, message] of BAD_NAMES) {
        const response = await server.post(path, key, body(name));
        expect(response.status).toBe(422);
        expect(response.body.error).toBe('validation_failed');
        expect(response.body.issues).toEqual([{ path: `${at}/agent_name`, code, message: expect.stringContaining(message) }]);
      }
      expect(await agents()).toHaveLength(before);
    },
  );

  test('rejects an invisible name and says what to send', async () => {
    const { status, body } = await evaluate('\u200b\u2060');
    expect([status, body.issues[0].message]).toEqual([
      422,
      'agent_name contains invisible characters: U+200B ZERO WIDTH SPACE at position 1, U+2060 WORD JOINER at position 2; send a visible name',
    ]);
  });

  test('does not apply to names that were registered before the rules existed: every endpoint accepts them', async () => {
    for (const [index, [, , , body]] of REGISTERING_REQUESTS.entries()) {
      const name = ` old\u200b e\u0301 ${index} `;
      await storeUncheckedAgent(name);
      expect((await server.post(REGISTERING_REQUESTS[index]![1], key, body(name))).status).toBe(200);
      expect((await check({ agent_name: name })).body.agent_id).not.toBeNull();
    }
  });

  test('a promotion check with an invalid name finds no agent and is blocked, but never gets a 422', async () => {
    for (const [, agent_name] of BAD_NAMES) {
      const { status, body } = await check({ agent_name });
      expect([status, body.allowed, body.reason, body.agent_id]).toEqual([200, false, 'no_recent_evaluation', null]);
    }
  });

  test('reports at most 100 issues for a batch of invalid names', async () => {
    const events = Array.from({ length: 200 }, (_, index) => ({ ...event(), agent_name: `\u200b${index} ` }));
    const { status, body } = await server.post(paths.telemetry, key, { events });
    expect([status, body.issues.length]).toEqual([422, 100]);
  });
});

describe('a promotion check with an unknown name', () => {
  beforeAll(async () => {
    await server.post(paths.evaluations, key, { name: 'n', agent_name: 'gated-bot', pass_rate: 95 });
  });

  test.each([
    ['the case of letters', 'Gated-Bot', 'No agent named "Gated-Bot" is known here; did you mean "gated-bot"?'],
    [
      'a look-alike letter',
      'gated-b\u043et',
      'No agent named "gated-b\u043et" is known here (position 8 is U+043E and not U+006F); did you mean "gated-bot"?',
    ],
    [
      'an invisible character',
      'gated\u200b-bot',
      'No agent named "gated-bot" is known here (the requested name contains invisible characters: U+200B ZERO WIDTH SPACE at position 6); did you mean "gated-bot"?',
    ],
    [
      'white space at an end',
      'gated-bot ',
      'No agent named "gated-bot " is known here (the requested name begins or ends with white space: U+0020 SPACE at position 10); did you mean "gated-bot"?',
    ],
    ['many characters', 'quite another', 'No agent named "quite another" is known here; record an evaluation that names it.'],
  ])('that differs from a known name by %s is blocked, and the message says what to do', async (_, agent_name, message) => {
    const { status, body } = await check({ agent_name });
    expect([status, body.allowed, body.reason, body.message]).toEqual([200, false, 'no_recent_evaluation', message]);
    expect(body.checks[0].message).toBe(message);
  });

  test('does not name agents of another workspace', async () => {
    const otherKey = await server.key(await server.workspace());
    expect((await check({ agent_name: 'Gated-Bot' }, otherKey)).body.message).toMatch(
      /^No agent named "Gated-Bot" is known here;/,
    );
  });
});

describe('a new name that resembles a known one', () => {
  test.each(REGISTERING_REQUESTS)(
    'registers a new agent when sent in %s, and the response has a warning that names the known agent',
    async (what, path, _, body) => {
      const known = `${what} agent`;
      await evaluate(known);
      const lookAlike = known.replaceAll('a', '\u0430');
      const [capital, cyrillic] = [
        await server.post(path, key, body(known.toUpperCase())),
        await server.post(path, key, body(lookAlike)),
      ];
      expect([capital.status, cyrillic.status]).toEqual([200, 200]);
      const escaped = (name: string) => encodeURIComponent(name);
      expect(warning(capital)).toBe(`similar-agent-name;agent_name=${escaped(known.toUpperCase())};similar_to=${escaped(known)}`);
      expect(warning(cyrillic)).toBe(`similar-agent-name;agent_name=${escaped(lookAlike)};similar_to=${escaped(known)}`);
      expect((await agents()).map(({ name }) => name)).toEqual(expect.arrayContaining([known, known.toUpperCase(), lookAlike]));
      expect(warning(await server.post(path, key, body(lookAlike)))).toBeNull();
    },
  );

  test.each([
    ['two spaces', 'checkout bot', 'checkout  bot'],
    ['an ideographic space', 'refund bot', 'refund\u3000bot'],
    ['a full-width letter', 'order-bot', 'o\uff52der-bot'],
  ])('gets the warning if it differs by %s', async (_, known, name) => {
    await evaluate(known);
    expect(warning(await evaluate(name))).toBe(
      `similar-agent-name;agent_name=${encodeURIComponent(name)};similar_to=${encodeURIComponent(known)}`,
    );
  });

  test('gets the warning about the oldest agent, even if many agents have similar names and the oldest one was changed later', async () => {
    await evaluate('ledgertransferbot');
    const variants = Array.from({ length: 60 }, (_, index) =>
      [...'ledgertransferbot'].map((letter, place) => ((index + 1) & (1 << place) ? letter.toUpperCase() : letter)).join(''),
    );
    const events = variants.map((agent_name) => ({ ...event(), agent_name }));
    expect((await server.post(paths.telemetry, key, { events })).status).toBe(200);
    await server.database.sql(
      `UPDATE countersign.agents SET risk_level = 'high' WHERE tenant_id = $1 AND name = 'ledgertransferbot'`,
      [tenantId],
    );
    expect(warning(await evaluate('ledgertransferBOT'))).toBe(
      'similar-agent-name;agent_name=ledgertransferBOT;similar_to=ledgertransferbot',
    );
  });

  test('the warning is replayed with the stored response', async () => {
    await evaluate('replayed');
    const headers = { 'idempotency-key': randomUUID() };
    const [first, replayed] = [await evaluate('Replayed', headers), await evaluate('Replayed', headers)];
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect(warning(first)).toBe('similar-agent-name;agent_name=Replayed;similar_to=replayed');
    expect(warning(replayed)).toBe(warning(first));
  });

  test('gets the warning even if the known agent was stored without a skeleton of its name', async () => {
    await storeUncheckedAgent('stra\u00dfe');
    expect(warning(await evaluate('STRASSE'))).toBe('similar-agent-name;agent_name=STRASSE;similar_to=stra%C3%9Fe');
  });

  test('gets the warning even if an earlier event of the same batch registered the known agent', async () => {
    const events = ['one batch', 'One Batch', 'another'].map((agent_name) => ({ ...event(), agent_name }));
    expect(warning(await server.post(paths.telemetry, key, { events }))).toBe(
      'similar-agent-name;agent_name=One%20Batch;similar_to=one%20batch',
    );
  });

  test('gets a warning header of limited length, with a limited number of warnings', async () => {
    const long = '\u{1F600}'.repeat(508);
    const events = (letter: string) =>
      Array.from({ length: 9 }, (_, index) => ({ ...event(), agent_name: `${long}${letter}${index}` }));
    await server.post(paths.telemetry, key, { events: events('a') });
    const response = await server.post(paths.telemetry, key, { events: events('A') });
    const warnings = warning(response)!.split(', ');
    expect(warnings).toHaveLength(4);
    expect(warnings[0]).toMatch(
      /^similar-agent-name;agent_name=(%F0%9F%98%80){20,25}\.\.\.;similar_to=(%F0%9F%98%80){20,25}\.\.\.$/,
    );
    expect(warnings[3]).toBe('similar-agent-name;more=6');
    expect(warning(response)!.length).toBeLessThan(2048);
  });

  test('housekeeping adds missing skeletons of names', async () => {
    const tenant = await server.workspace();
    await server.database.sql(
      `INSERT INTO countersign.agents (tenant_id, id, name) SELECT $1, gen_random_uuid(), 'many ' || n FROM generate_series(1, 2500) AS n`,
      [tenant],
    );
    const countMissing = async () =>
      (
        await server.database.sql<{ n: number }>(
          'SELECT count(*)::int AS n FROM countersign.agents WHERE tenant_id = $1 AND name_skeleton IS NULL',
          [tenant],
        )
      )[0]!.n;
    expect(await countMissing()).toBe(2500);
    const housekeeping = startHousekeeping(server.open, { merge: async () => undefined }, pino({ level: 'silent' }));
    await vi.waitUntil(async () => (await countMissing()) === 0, { timeout: 30_000 });
    housekeeping.stop();
    const tenantKey = await server.key(tenant);
    expect(warning(await evaluate('MANY 2499', {}, tenantKey))).toContain('similar_to=many%202499');
  });

  test('gets no warning about an agent of another workspace', async () => {
    await evaluate('of one workspace');
    const otherKey = await server.key(await server.workspace());
    const response = await evaluate('Of One Workspace', {}, otherKey);
    expect([response.status, warning(response)]).toEqual([200, null]);
  });
});
