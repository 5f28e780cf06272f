import { areLogsValid, countLostRecords } from '../attack/acknowledged-records.ts';
import { KINDS, Victim, type VictimReport } from '../attack/victim.ts';
import type { Cluster } from './cluster.ts';

/** Options of a fault. */
export interface FaultOptions {
  /** The number of rounds, each with one failure. `several-servers` and `overload` ignore it. */
  rounds: number;
  /** The duration of the steady load of `overload`, or of the kills of `several-servers`. Each server is killed at least once. */
  seconds: number;
  /** The number of servers on one database. */
  servers: number;
  /** Whether the servers use a Citus cluster instead of the embedded database. */
  onCitus: boolean;
}

/** What was observed during a fault. */
export interface FaultResult {
  /** A short summary for the table. */
  measured: string;
  /** The number of acknowledged records, and how many of them are missing from the database. */
  acknowledged: number;
  lost: number;
  /** What broke a promise of this fault or a promise of all faults, one line each. */
  violations: string[];
}

/** A failure that the service must survive. */
export interface Fault {
  /** A short description for the table. */
  description: string;
  /** The promise of this fault. `checkSharedPromises` checks the promises that all faults share. */
  promise: string;
  /** Whether the fault can also be caused on Citus. */
  supportsCitus?: true;
  /** Why this machine cannot cause the fault; undefined if it can. */
  skipReason?: () => string | undefined;
  /** Starts a cluster, causes the fault, checks the promises and ends the cluster. */
  run(options: FaultOptions): Promise<FaultResult>;
}

/** Starts senders, which write records of all kinds through the proxy of a cluster. */
export function startSenders({ proxy, victim }: Cluster, senders: number): Victim {
  return new Victim({ host: proxy.host, port: proxy.port, key: victim.key, senders, kinds: KINDS, pauseMs: 5 });
}

/**
 * Checks the promises that all faults share.
 * @param expectedErrors matches the log lines of level error that the fault itself causes.
 */
export async function checkSharedPromises(
  cluster: Cluster,
  { acknowledged, unexpectedResponses }: Pick<VictimReport, 'acknowledged' | 'unexpectedResponses'>,
  expectedErrors = /(?!)/,
): Promise<Pick<FaultResult, 'acknowledged' | 'lost' | 'violations'>> {
  const lost = await countLostRecords(cluster, { acknowledged });
  return {
    acknowledged: acknowledged.length,
    lost,
    violations: [
      ...(acknowledged.length > 0 ? [] : ['no record was acknowledged']),
      ...(lost === 0 ? [] : [`${lost} acknowledged records are not in the database`]),
      ...((await areLogsValid(cluster)) ? [] : ['a log is not valid']),
      ...(cluster.running.length === cluster.servers.length ? [] : ['a server process ended']),
      ...new Set(unexpectedResponses),
      ...cluster.errorLogLines.filter((line) => !expectedErrors.test(line)).slice(0, 3),
    ],
  };
}
