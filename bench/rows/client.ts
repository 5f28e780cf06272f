import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Countersign, type TelemetryEvent } from '../../packages/client/src/index.ts';
import { telemetryBody } from '../bodies.ts';
import type { BenchEnvironment } from '../environment.ts';
import { ID_PLACEHOLDER } from '../load.ts';
import { alternate, median, type RoundOptions, type Row, rowOf } from '../rounds.ts';
import { measuresOf } from './requests.ts';

/** Events sent through the client in one round. */
const EVENTS = 100_000;
/** Events that the application emits before it yields to the event loop. */
const BURST_EVENTS = 100;

/** The client library: the time and memory that an event costs the application, and the rate of events compared with raw POSTs. */
export async function client(environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> {
  const title = {
    work: `${EVENTS.toLocaleString('en-US')} events through the client`,
    limit: 'raw POST of batches of 200',
    unit: 'events/s',
    target: { required: 0.7, stretch: 0.9 },
  };
  const rateRow = await alternate(title, options, () => measureClientRate(environment), measuresOf(environment).telemetry);
  return [measureEmitTime(), measureQueuedBytes(), rateRow];
}

/** The events of the batch that the raw POST sends. */
const events = (JSON.parse(telemetryBody()) as { events: TelemetryEvent[] }).events;
let lastId = 0;

/** The next event, with its own ID. */
const nextEvent = (): TelemetryEvent => {
  lastId += 1;
  const event = events[lastId % events.length]!;
  return { ...event, trace_id: event.trace_id.replace(ID_PLACEHOLDER, String(lastId).padStart(ID_PLACEHOLDER.length, '0')) };
};

async function measureClientRate({ port, key }: BenchEnvironment): Promise<number> {
  const countersign = new Countersign({
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: key,
    telemetry: { onDropped: () => undefined },
  });
  const startedAt = performance.now();
  for (let emitted = 0; emitted < EVENTS; ) {
    let hasRoom = true;
    for (let burst = 0; burst < BURST_EVENTS && hasRoom; burst += 1) {
      hasRoom = countersign.telemetry.emit(nextEvent());
      if (hasRoom) emitted += 1;
    }
    await (hasRoom ? yieldToEventLoop() : countersign.telemetry.flush());
  }
  await countersign.close();
  const { sent } = countersign.telemetry.stats;
  const perSecond = (sent / (performance.now() - startedAt)) * 1000;
  if (sent !== EVENTS) throw new Error(`only ${sent} of ${EVENTS} events arrived`);
  return perSecond;
}

/** A client that queues events and whose requests never end. */
const clientThatNeverSends = () =>
  new Countersign({
    baseUrl: 'http://127.0.0.1:1',
    apiKey: 'aa_live_000000000000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    fetch: () => new Promise<never>(() => undefined),
    telemetry: {
      queueEventsMax: 1_000_000,
      queueCharactersMax: 1_000_000_000,
      onDropped: () => undefined,
      onUnsent: () => undefined,
    },
  });

/** The median time of emit(), over 20,000 calls in each round. */
function measureEmitTime(): Row {
  const title = {
    work: 'emit() of 0.5 KB, median',
    limit: 'µs',
    unit: 'µs',
    target: { required: 5, stretch: 2, isLowerBetter: true },
  };
  const { telemetry } = clientThatNeverSends();
  const measureRound = () => {
    const times = Array.from({ length: 20_000 }, () => {
      const event = nextEvent();
      const startedAt = performance.now();
      telemetry.emit(event);
      return (performance.now() - startedAt) * 1000;
    });
    return { rate: median(times), limitRate: 1 };
  };
  measureRound(); // warms up the compilers
  return rowOf(title, [measureRound(), measureRound(), measureRound()]);
}

/** The heap that a short event uses while it is queued. */
function measureQueuedBytes(): Row {
  const title = {
    work: 'a queued event',
    limit: 'bytes',
    unit: 'bytes',
    target: { required: 300, stretch: 250, isLowerBetter: true },
  };
  const { telemetry } = clientThatNeverSends();
  const before = heapUsed();
  for (let event = 0; event < EVENTS; event += 1) telemetry.emit(shortEvent(event));
  const rate = (heapUsed() - before) / EVENTS;
  return rowOf(title, [{ rate, limitRate: 1 }], `the JSON of the event has ${JSON.stringify(shortEvent(0)).length} bytes`);
}

const shortEvent = (number: number): TelemetryEvent => ({
  trace_id: `run-${String(number).padStart(12, '0')}`,
  outcome: 'success',
  agent_name: 'support-bot',
  model: 'gpt-4o',
  prompt_tokens: 812,
  completion_tokens: 64,
  latency_ms: 840,
  started_at: '2026-11-20T09:30:00.000Z',
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
