import { percentile } from '../attack/attack.ts';
import { Cluster } from './cluster.ts';
import { checkSharedPromises, type Fault } from './fault.ts';
import { Load, type LoadPhase, type LoadReport, type LoadSecond } from './load.ts';

const MIB = 1024 * 1024;
/** The number of connections while the capacity is measured. */
const CAPACITY_CONNECTIONS = 128;
const CONNECTIONS_MAX = 2_000;
/** The server's limit for records that wait for a commit. The default of 64 MiB would hold requests for several seconds. */
const QUEUE_BYTES_MAX = 2 * MIB;
/** The steady load and the overload, as multiples of the measured capacity. */
const STEADY_FACTOR = 0.8;
const OVERLOAD_FACTOR = 3;
/** The duration of the overload as a share of the duration of the steady load. */
const OVERLOAD_TIME_SHARE = 0.3;
const RECOVERY_SECONDS_MAX = 10;
const GROWTH_MAX = 1.2;
const MEMORY_MIB_MAX = 768;
/** p99 is normal up to NORMAL_FACTOR times its median in the steady load, and always up to NORMAL_MS. */
const NORMAL_FACTOR = 2;
const NORMAL_MS = 50;

/** A load below the capacity of the servers, and then one above it. */
export const overload: Fault = {
  description: [
    `mixed records at ${STEADY_FACTOR * 100} % of the capacity`,
    `then at ${OVERLOAD_FACTOR * 100} % for ${OVERLOAD_TIME_SHARE * 100} % of that time`,
    `on up to ${CONNECTIONS_MAX.toLocaleString('en-US')} connections, with a queue of ${QUEUE_BYTES_MAX / MIB} MiB`,
  ].join(', '),
  promise:
    `memory grows by at most ${Math.round(100 * (GROWTH_MAX - 1))} % from the second to the last quarter of the steady load ` +
    `and is at most ${MEMORY_MIB_MAX} MiB; every rejection has Retry-After; ` +
    `p99 is back to normal within ${RECOVERY_SECONDS_MAX} s after the overload`,
  supportsCitus: true,
  run: async ({ seconds, servers, onCitus }) => {
    const settings = { COUNTERSIGN_QUEUE_BYTES_MAX: String(QUEUE_BYTES_MAX) };
    const cluster = await Cluster.start({ servers, onCitus, settings });
    const load = new Load({ servers: cluster.servers, key: cluster.victim.key });
    const reports: LoadReport[] = [];
    const runPhase = async (perSecond: number | undefined, phaseSeconds: number, connectionsMax = CONNECTIONS_MAX) => {
      const measured = await runAndSampleMemory(cluster, load, { perSecond, seconds: Math.ceil(phaseSeconds), connectionsMax });
      reports.push(measured.report);
      return measured;
    };
    try {
      await runPhase(undefined, 3, CAPACITY_CONNECTIONS); // warms up caches and compilers
      const capacity = meanRate((await runPhase(undefined, Math.min(15, seconds), CAPACITY_CONNECTIONS)).report.seconds);
      const steady = await runPhase(STEADY_FACTOR * capacity, seconds);
      const overloaded = await runPhase(OVERLOAD_FACTOR * capacity, OVERLOAD_TIME_SHARE * seconds);
      const after = await runPhase(STEADY_FACTOR * capacity, 2 * RECOVERY_SECONDS_MAX);
      const sharedResult = await checkSharedPromises(cluster, {
        acknowledged: reports.flatMap(({ acknowledged }) => acknowledged),
        unexpectedResponses: reports.flatMap(({ unexpectedResponses }) => unexpectedResponses),
      });
      const normalP99Ms = percentile(
        steady.report.seconds.map(({ p99Ms }) => p99Ms),
        0.5,
      );
      const recoverySecond = after.report.seconds.findIndex(
        ({ p99Ms }) => p99Ms > 0 && p99Ms <= Math.max(NORMAL_MS, NORMAL_FACTOR * normalP99Ms),
      );
      const growth = growthOf(steady.memoryBytes);
      const [steadyPeak, peak] = [
        Math.max(...steady.memoryBytes) / MIB,
        Math.max(...overloaded.memoryBytes, ...after.memoryBytes) / MIB,
      ];
      const rejected = overloaded.report.seconds.reduce((sum, second) => sum + second.rejected, 0);
      const overloadP99Ms = percentile(
        overloaded.report.seconds.map(({ p99Ms }) => p99Ms),
        0.5,
      );
      return {
        ...sharedResult,
        measured: [
          `${servers} servers, capacity ${Math.round(capacity).toLocaleString('en-US')} records/s`,
          `steady load: memory grew by a factor of ${growth.toFixed(2)}, to at most ${steadyPeak.toFixed(0)} MiB`,
          `overload: at most ${peak.toFixed(0)} MiB`,
          `p99 ${normalP99Ms.toFixed(0)} ms in the steady load, ${overloadP99Ms.toFixed(0)} ms in the overload ` +
            `(${Math.round(meanRate(overloaded.report.seconds)).toLocaleString('en-US')} records/s, ` +
            `${rejected.toLocaleString('en-US')} rejections)`,
          recoverySecond < 0 ? 'not back to normal' : `back to normal in second ${recoverySecond + 1}`,
          unansweredText(reports),
        ].join('; '),
        violations: [
          ...sharedResult.violations,
          ...(growth <= GROWTH_MAX ? [] : [`memory grew by a factor of ${growth.toFixed(2)}`]),
          ...(Math.max(steadyPeak, peak) <= MEMORY_MIB_MAX ? [] : [`a server used ${Math.max(steadyPeak, peak).toFixed(0)} MiB`]),
          ...(rejected > 0 ? [] : ['no request was rejected during the overload']),
          ...(recoverySecond >= 0 && recoverySecond < RECOVERY_SECONDS_MAX
            ? []
            : [`p99 did not return to normal within ${RECOVERY_SECONDS_MAX} s`]),
        ],
      };
    } finally {
      await load.end();
      await cluster.end();
    }
  },
};

const meanRate = (seconds: readonly LoadSecond[]): number =>
  seconds.reduce((sum, { acknowledged }) => sum + acknowledged, 0) / seconds.length;

/** Requests of all phases that got no response or were not sent. */
function unansweredText(reports: readonly LoadReport[]): string {
  const withoutResponse = reports.reduce((sum, report) => sum + report.withoutResponse, 0);
  const notSent = reports.reduce((sum, report) => sum + report.notSent, 0);
  const [unanswered, unsent] = [withoutResponse, notSent].map((count) => count.toLocaleString('en-US'));
  return `${unanswered} requests without a response, ${unsent} not sent because no connection was free`;
}

/** Runs a phase. Every second, samples the largest resident size of the servers. */
async function runAndSampleMemory(
  cluster: Cluster,
  load: Load,
  phase: LoadPhase,
): Promise<{ report: LoadReport; memoryBytes: number[] }> {
  const memoryBytes: number[] = [];
  const sampling = setInterval(() => memoryBytes.push(cluster.residentBytes()), 1_000);
  const report = await load.run(phase).finally(() => clearInterval(sampling));
  return { report, memoryBytes };
}

/** The median memory in the last quarter of the samples, as a multiple of the median in the second quarter. */
function growthOf(memoryBytes: readonly number[]): number {
  const quarter = (index: number) => {
    const samples = memoryBytes.slice(
      Math.floor((index * memoryBytes.length) / 4),
      Math.ceil(((index + 1) * memoryBytes.length) / 4),
    );
    return percentile(samples, 0.5);
  };
  return quarter(3) / quarter(1);
}
