import type pg from 'pg';

const DAYS = 14;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AGENTS = ['billing-agent', 'triage-agent', 'refund-agent', 'research-agent'] as const;
const MODELS = ['gpt-4o', 'claude-sonnet-4', 'gpt-4o-mini'] as const;

/** Sends an API request and resolves with the body of the response. */
export type Send = (path: string, body: unknown) => Promise<Record<string, unknown>>;

/** Sends two weeks of data for several agents: events, evaluations, promotion checks, and two runs with steps. */
export async function sendDemoData(send: Send): Promise<void> {
  for (let day = 0; day < DAYS; day += 1) {
    await send('/api/public/telemetry', { events: eventsOf(day) });
    for (const [agentIndex, agent] of AGENTS.slice(0, 3).entries()) {
      const passRate = 84 + ((day * 7 + agentIndex * 5) % 13) - (agentIndex === 1 ? 9 : 0);
      const status = passRate >= 80 ? 'passing' : 'failing';
      const category = agentIndex === 2 ? 'safety' : 'regression';
      const evaluation = { name: `nightly-${dayLabel(day)}`, agent_name: agent, category };
      if (agentIndex === 2) {
        const rate = 70 + ((day * 3) % 17);
        const safety = { suite: { name: 'safety' }, status: rate >= 80 ? 'passing' : 'failing', pass_rate: rate };
        await send('/api/v1/evaluations', { ...evaluation, ...safety });
      }
      const regression = { suite: { name: 'regression' }, status, pass_rate: passRate };
      await send('/api/v1/evaluations', { ...evaluation, ...regression });
    }
  }
  await send('/api/public/traces', conversation());
  await send('/api/public/traces', longRun());
  for (const agent_name of [...AGENTS, 'refnd-agent']) await send('/api/public/governance/promotion-check', { agent_name });
  await send('/api/public/evaluations', { name: 'first', agent_name: 'Refund-Agent', status: 'passing', pass_rate: 91 });
}

/** The part of a trace_id or of an evaluation's name that names the day. `backdate` finds the rows of a day by this part. */
const dayLabel = (day: number): string => `day-${String(day).padStart(2, '0')}`;

/** The telemetry events of a day. Two of seven days have fewer events. Some events are failures. */
function eventsOf(day: number): object[] {
  const runs = 24 + ((day * 11) % 17) - (day % 7 > 4 ? 14 : 0);
  return Array.from({ length: runs }, (_each, index) => ({
    trace_id: `${dayLabel(day)}-run-${String(index).padStart(3, '0')}`,
    agent_name: AGENTS[index % AGENTS.length],
    outcome: index % 9 === 4 ? 'failure' : index % 13 === 7 ? 'escalated' : 'success',
    model: MODELS[index % MODELS.length],
    prompt_tokens: 600 + ((index * 137) % 900),
    completion_tokens: 80 + ((index * 53) % 300),
    cost_usd: Math.round((0.004 + ((index * 31) % 40) / 1000) * 10_000) / 10_000,
    latency_ms: 700 + ((index * 389) % 5200),
    session_id: `session-${(index * 7) % 23}`,
    ...(index % 9 === 4 ? { error: 'The order service did not answer within 5 seconds.' } : {}),
  }));
}

const timeAt = (start: number, ms: number): string => new Date(start + ms).toISOString();

/** A run in which a customer asks for a refund. It has model calls, tool calls, a retrieval and a guardrail. */
function conversation(): object {
  const start = Date.now() - 12 * 60_000;
  const times = (from: number, to: number) => ({
    started_at: timeAt(start, from),
    ended_at: timeAt(start, to),
    latency_ms: to - from,
  });
  const promptMessages = [
    { role: 'system', content: 'You answer customers of a shop. You may refund up to $50.' },
    { role: 'user', content: 'My order 4711 arrived broken. I would like my money back.' },
  ];
  const calls = [{ id: 'call-1', type: 'function', function: { name: 'find_order', arguments: '{"order_id":"4711"}' } }];
  return {
    trace_id: 'run-refund-4711',
    agent_name: 'refund-agent',
    outcome: 'success',
    session_id: 'session-4711',
    external_user_id: 'customer-88',
    detail: 'Customer asks for a refund of a broken order.',
    ...times(0, 6420),
    spans: [
      { span_id: 'root', kind: 'agent', name: 'answer customer', ...times(0, 6420) },
      {
        span_id: 'plan',
        parent_span_id: 'root',
        kind: 'llm',
        name: 'plan',
        model: 'gpt-4o',
        provider: 'openai',
        prompt_tokens: 812,
        completion_tokens: 64,
        cost_usd: 0.0042,
        ...times(20, 1480),
        messages: [...promptMessages, { role: 'assistant', content: 'I look up the order first.', tool_calls: calls }],
      },
      {
        span_id: 'find',
        parent_span_id: 'root',
        kind: 'tool',
        name: 'find_order',
        ...times(1500, 2310),
        tool_arguments: { order_id: '4711' },
        tool_result: { order_id: '4711', total_usd: 38.5, status: 'delivered', items: ['lamp'] },
      },
      {
        span_id: 'policy',
        parent_span_id: 'root',
        kind: 'retrieval',
        name: 'refund policy',
        ...times(2330, 2900),
        input: 'refund broken item',
        output: ['Broken items are refunded within 30 days.'],
      },
      {
        span_id: 'guard',
        parent_span_id: 'root',
        kind: 'guardrail',
        name: 'refund limit',
        ...times(2910, 2980),
        output: { allowed: true, limit_usd: 50 },
      },
      {
        span_id: 'pay',
        parent_span_id: 'root',
        kind: 'tool',
        name: 'refund',
        status: 'failure',
        ...times(3000, 4100),
        tool_arguments: { order_id: '4711', amount_usd: 38.5 },
        error: 'PaymentTimeout: the bank did not answer within 1 second',
      },
      {
        span_id: 'pay-2',
        parent_span_id: 'root',
        kind: 'tool',
        name: 'refund',
        ...times(4120, 5050),
        tool_arguments: { order_id: '4711', amount_usd: 38.5 },
        tool_result: { refunded: true },
      },
      {
        span_id: 'answer',
        parent_span_id: 'root',
        kind: 'llm',
        name: 'answer',
        model: 'gpt-4o',
        provider: 'openai',
        prompt_tokens: 1204,
        completion_tokens: 96,
        cost_usd: 0.0061,
        ...times(5060, 6400),
        messages: [
          ...promptMessages,
          {
            role: 'assistant',
            content: 'I am sorry about the lamp. I have refunded $38.50; it is on your card within three days.',
          },
        ],
      },
    ],
  };
}

/** A run of 420 steps, three levels deep. */
function longRun(): object {
  const start = Date.now() - 50 * 60_000;
  const kinds = ['llm', 'tool', 'retrieval', 'tool'] as const;
  const spans = Array.from({ length: 420 }, (_each, index) => {
    const round = Math.floor(index / 14);
    const isRound = index % 14 === 0;
    return {
      span_id: `s${index}`,
      ...(index === 0 ? {} : { parent_span_id: isRound ? 's0' : `s${round * 14}` }),
      kind: index === 0 || isRound ? 'agent' : kinds[index % 4],
      name:
        index === 0 ? 'research the market' : isRound ? `round ${round}` : ['think', 'search', 'read source', 'note'][index % 4],
      started_at: timeAt(start, index * 95),
      latency_ms: index === 0 ? 41_000 : isRound ? 1300 : 60 + ((index * 37) % 140),
      ...(index % 4 === 0 && !isRound ? { model: 'claude-sonnet-4', prompt_tokens: 400 + index, completion_tokens: 40 } : {}),
      ...(index === 203 ? { error: 'The source could not be read.', status: 'failure' } : {}),
    };
  });
  return { trace_id: 'run-research-market', agent_name: 'research-agent', outcome: 'escalated', spans };
}

/** Moves each event and nightly evaluation into the past, to the day that its trace_id or name contains. Only for screenshots. */
export async function backdate(client: pg.Client): Promise<void> {
  for (const table of ['telemetry_events', 'evaluations'])
    await client.query(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
  for (let day = 0; day < DAYS; day += 1) {
    const age = `${(DAYS - 1 - day) * DAY_MS + HOUR_MS} milliseconds`;
    await client.query(
      `UPDATE countersign.telemetry_events
          SET received_at = received_at - $1::interval + (ordinal * interval '90 seconds') - interval '50 minutes'
        WHERE trace_id LIKE $2`,
      [age, `${dayLabel(day)}-%`],
    );
    await client.query('UPDATE countersign.evaluations SET recorded_at = recorded_at - $1::interval WHERE name = $2', [
      age,
      `nightly-${dayLabel(day)}`,
    ]);
  }
}
