import { areLogsValid, countLostRecords } from '../attack/acknowledged-records.ts';
import { KINDS, Victim, type VictimReport } from '../attack/victim.ts';
import type { Cluster } from './cluster.ts';

/** How much of a fault to cause. */
export interface FaultOptions {
  /** The number of kills and outages. */
  rounds: number;
  /** The duration of loads. */
  seconds: number;
  /** The number of servers on one database. */
  servers: number;
  /** Whether the servers use a Citus cluster instead of the embedded database. */
  citus: boolean;
}

/** What a fault did. */
export interface FaultResult {
  measured: string;
  /** The number of acknowledged records, and how many of them are missing from the database. */
  acknowledged: number;
  lost: number;
  /** Broken promises. */
  violations: string[];
}

/** A failure that the service must survive. */
export interface Fault {
  /** A description for the table. */
  what: string;
  /** The promise besides the one of every fault: no acknowledged record is lost, and all logs verify. */
  promise: string;
  /** Whether it can also be caused on Citus. */
  onCitus?: true;
  /** Why this machine cannot cause the fault; undefined if it can. */
  obstacle?: () => string | undefined;
  run(options: FaultOptions): Promise<FaultResult>;
}

/** Senders of all kinds of records through the proxy of a cluster. */
export function startSenders({ proxy, victim }: Cluster, senders: number): Victim {
  return new Victim({ host: proxy.host, port: proxy.port, key: victim.key, senders, kinds: KINDS, pauseMs: 5 });
}

/**
 * Checks the promises of every fault.
 * @param expected log lines of level error that the fault itself causes.
 */
export async function checkRecords(
  cluster: Cluster,
  { acknowledged, faults }: Pick<VictimReport, 'acknowledged' | 'faults'>,
  expected = /(?!)/,
): Promise<Pick<FaultResult, 'acknowledged' | 'lost' | 'violations'>> {
  const lost = await countLostRecords(cluster, { acknowledged });
  return {
    acknowledged: acknowledged.length,
    lost,
    violations: [
      ...(acknowledged.length > 0 ? [] : ['no record was acknowledged']),
      ...(lost === 0 ? [] : [`${lost} acknowledged records are not in the database`]),
      ...((await areLogsValid(cluster)) ? [] : ['a log does not verify']),
      ...(cluster.running.length === cluster.members.length ? [] : ['a server process ended']),
      ...new Set(faults),
      ...cluster.faults.filter((line) => !expected.test(line)).slice(0, 3),
    ],
  };
}
