import type { Trace } from '@countersign/core/contract/trace';
import type { Api } from '../api.ts';
import { type Narrator, oneLineJson } from '../narrator.ts';
import { answeredRun, escalatedRun, summaries, traceLine } from '../support-bot-runs.ts';

/** Reports runs as an agent's runtime does: as traces with each step, and as summaries in a batch. */
export async function reportRuns(narrator: Narrator, api: Api): Promise<void> {
  narrator.startChapter(
    'Evidence: what the agent does',
    'The agent answers customers. Its runtime reports each run as a trace, step by step.',
  );
  const path = '/api/public/traces';
  const firstResponse = await api.store('agent-runtime', path, answeredRun, traceLine(answeredRun));
  narrator.check('tokens are summed over the spans', tokensOf(answeredRun), firstResponse.body.tokens);
  narrator.check('cost is summed as an exact decimal: 0.1 + 0.2 is 0.3', 0.3, firstResponse.body.cost_usd);
  await api.store('agent-runtime', path, escalatedRun, traceLine(escalatedRun));
  const repeatedResponse = await api.store(
    'agent-runtime',
    path,
    answeredRun,
    '(the first trace again, as after a network failure)',
  );
  narrator.check('a run sent twice is one run, with the same ID', firstResponse.body.id, repeatedResponse.body.id);
  narrator.introduce('If the steps are not recorded, a summary of each run is enough:');
  const batch = await api.store('agent-runtime', '/api/public/telemetry', { events: summaries }, batchLine());
  narrator.check('the whole batch is stored', summaries.length, batch.body.ingested);
  narrator.explainWhy(
    'later you can show what the agent did on a given day, because every submission is stored exactly as it was sent.',
  );
}

const tokensOf = ({ spans }: Trace): number =>
  (spans ?? []).reduce(
    (sum, { prompt_tokens: prompt, completion_tokens: completion }) => sum + (prompt ?? 0) + (completion ?? 0),
    0,
  );

/** The batch of summaries on one line. */
const batchLine = (): string =>
  `{ "events": [ ${summaries.length} events with the outcomes ${oneLineJson(summaries.map(({ outcome }) => outcome))} ] }`;
