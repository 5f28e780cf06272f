import type { Pool } from 'pg';
import type { DatabaseAddress } from './driver-address.ts';

/** The host and port of a node, as stored in `pg_dist_node`. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** The connections to a node. */
export interface NodePools {
  /** For writing batches. */
  readonly write: Pool;
  /** For looking up keys. Nothing slow may use it. */
  readonly lookup: Pool;
}

/** Reports to the log that a node became unreachable, or reachable again. */
export interface NodeReports {
  /** Called for the first failure, and not again until the node was reached. */
  unreachable(node: string, error: unknown): void;
  reachable(node: string): void;
}

/** Returns the address of the same database on a node: `address` with another host and port. */
export function addressOnNode(address: DatabaseAddress, { host, port }: NodeAddress): DatabaseAddress {
  if (!('connectionString' in address)) return { ...address, host, port };
  const url = new URL(address.connectionString);
  for (const name of ['host', 'port']) url.searchParams.delete(name);
  // The host is set first, because a URL without a host accepts no port.
  url.hostname = host.includes(':') ? `[${host}]` : host;
  url.port = String(port);
  return { connectionString: url.href };
}

/** The time between two attempts to connect to a node that was not reachable. */
const PROBE_EVERY_MS = 5_000;

const PROBE = { text: 'SELECT 1', query_timeout: 2_000 };

/** A node of Citus and the connections to it. The connections are not used until a first statement on the node has succeeded. */
export class CitusNode {
  readonly pools: NodePools;
  /** `host:port`. */
  readonly name: string;
  readonly #reports: NodeReports;
  #isReachable = false;
  #isReported = false;
  #nextProbeAtMs = 0;

  constructor({ host, port }: NodeAddress, pools: NodePools, reports: NodeReports) {
    this.name = `${host}:${port}`;
    this.pools = pools;
    this.#reports = reports;
  }

  /**
   * Whether the node was reachable at the last attempt; false before the first one. If false, the call starts an attempt in the background,
   * at most one every PROBE_EVERY_MS. So no batch waits for an attempt.
   */
  checkReachable(): boolean {
    if (!this.#isReachable && performance.now() >= this.#nextProbeAtMs) void this.#probe();
    return this.#isReachable;
  }

  /** Records that a connection failed. The next attempt to connect is at least PROBE_EVERY_MS later. */
  noteFailure(error: unknown): void {
    this.#isReachable = false;
    this.#nextProbeAtMs = performance.now() + PROBE_EVERY_MS;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#reports.unreachable(this.name, error);
  }

  async #probe(): Promise<void> {
    this.#nextProbeAtMs = performance.now() + PROBE_EVERY_MS;
    try {
      // It is not enough to get a connection: an idle one in the pool may lead to a node that hangs.
      await this.pools.write.query(PROBE);
    } catch (error) {
      this.noteFailure(error);
      return;
    }
    this.#isReachable = true;
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#reports.reachable(this.name);
  }
}
