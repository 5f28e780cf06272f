import { operations } from '@countersign/core/contract/operations';
import type { BenchEnvironment } from '../environment.ts';
import { ID_PLACEHOLDER, postRequest, runLoad } from '../load.ts';
import { percentile, type RoundOptions, type Row, rowOf } from '../rounds.ts';
import { loadRequestsOf } from './requests.ts';

const MIB = 1024 * 1024;
const SPANS = 18;
const SENDERS = { large: 2, other: 8 };

/** The 99th percentile of the latency of audit appends while traces of 19 MB arrive, compared with the latency without these traces. */
export async function largeBodies(environment: BenchEnvironment, { rounds, seconds }: RoundOptions): Promise<Row[]> {
  const auditP99 = async () => {
    const loadRequests = loadRequestsOf(environment).audit;
    const { latencies } = await runLoad({ port: environment.port, connections: SENDERS.other, seconds, loadRequests });
    return percentile(latencies, 0.99);
  };
  const largeTraces = [postRequest(operations.ingestTrace.path, environment.key, largeTrace())];
  const measureWithLargeTraces = async () => {
    const arriving = runLoad({ port: environment.port, connections: SENDERS.large, seconds, loadRequests: largeTraces });
    const [p99, { perSecond }] = await Promise.all([auditP99(), arriving]);
    return { p99, perSecond };
  };
  await auditP99(); // warms up
  const measured: Row['rounds'] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const limitRate = await auditP99();
    const { p99, perSecond } = await measureWithLargeTraces();
    measured.push({ rate: p99, limitRate });
    rates.push(perSecond);
  }
  const title = { work: 'audit p99 while traces of 19 MB arrive', limit: 'audit p99 without these traces', unit: 'ms', target };
  return [rowOf(title, measured, `large bodies per second in each round: ${rates.map((each) => each.toFixed(1)).join(', ')}`)];
}

const target = { required: 3, stretch: 1.5, isLowerBetter: true };

function largeTrace(): string {
  const spans = Array.from({ length: SPANS }, (_, index) => ({
    span_id: `span-${index}`,
    kind: 'tool',
    name: 'read_file',
    tool_result: { text: `line ${index} of a large file\n`.repeat(MIB / 24).slice(0, MIB - 1_000) },
  }));
  return JSON.stringify({ trace_id: `large-${ID_PLACEHOLDER}`, agent_name: 'support-bot', spans });
}
