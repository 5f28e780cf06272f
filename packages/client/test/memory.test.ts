import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Countersign } from '../src/index.ts';
import { EventQueue } from '../src/telemetry/event-queue.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The megabytes of live objects after the work, minus those before it. */
async function measureRetainedMegabytes(work: () => unknown): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const result = await work();
  collectGarbage();
  const megabytes = (process.memoryUsage().heapUsed - before) / 1e6;
  expect(result).toBeDefined();
  return megabytes;
}

/** A text that shares no memory with other texts, unlike the result of `repeat`. */
const newText = (characters: number): string => Buffer.alloc(characters, 'x').toString('latin1');

test('the telemetry queue releases sent events, although it never becomes empty', async () => {
  const megabytes = await measureRetainedMegabytes(() => {
    const queue = new EventQueue({ eventsMax: 50_000, unitsMax: 32_000_000 });
    for (let index = 0; index < 1000; index += 1) {
      queue.push(newText(50_000));
      if (queue.size > 20) queue.take({ eventsMax: 10, bytesMax: 1_000_000 });
    }
    return queue;
  });
  expect(megabytes).toBeLessThan(5);
});

test('a sent run releases its documents, although timers that were started in it are still active', async () => {
  const response = { ok: true, id: 'a', trace_id: 'a', spans_ingested: 1, tokens: null, cost_usd: null };
  const client = new Countersign({
    baseUrl: 'http://localhost:1',
    apiKey: `aa_live_000000000000.${'x'.repeat(43)}`,
    fetch: async () => Response.json(response),
  });
  const timers: NodeJS.Timeout[] = [];
  const megabytes = await measureRetainedMegabytes(async () => {
    for (let index = 0; index < 20; index += 1) {
      client.traces.run({ detail: newText(500_000) }, (run) =>
        run.span({ kind: 'tool', name: 'start', input: newText(500_000) }, (span) => {
          timers.push(setInterval(() => undefined, 60_000));
          span.set({ output: newText(500_000) });
        }),
      );
    }
    await client.flush();
    return client;
  });
  for (const timer of timers) clearInterval(timer);
  expect(client.traces.stats).toMatchObject({ queued: 0, sent: 20 });
  expect(megabytes).toBeLessThan(5);
});
