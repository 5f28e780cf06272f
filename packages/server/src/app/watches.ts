import type { Logger } from 'pino';
import { watchClock } from '../background/clock-watch.ts';
import { type EvidenceWatch, watchEvidence } from '../background/evidence-watch.ts';
import { watchFreeSpace } from '../background/free-space-watch.ts';
import { startHousekeeping } from '../background/housekeeping.ts';
import { RunIdMerging } from '../background/run-id-merging.ts';
import { type SchemaWatch, watchSchema } from '../background/schema-watch.ts';
import { type TraceWatch, watchTraces } from '../background/trace-watch.ts';
import type { Config } from '../config/config.ts';
import type { FreeSpace } from '../database/free-space.ts';
import type { OpenDatabase } from './open-database.ts';

/** The background work of a server. */
export interface Watches {
  readonly evidence: EvidenceWatch;
  readonly traces: TraceWatch;
  readonly schema: SchemaWatch;
  /** undefined for an external database. */
  readonly space: FreeSpace | undefined;
  readonly runIds: RunIdMerging;
  stop(): void;
}

/** Starts all periodic work except the checkpoints. */
export function startWatches(config: Config, database: OpenDatabase, log: Logger): Watches {
  const evidence = watchEvidence(database, log);
  const traces = watchTraces(database, log);
  const schema = watchSchema(database, log);
  const space = watchFreeSpace(config, database.embeddedIn, log);
  const runIds = new RunIdMerging(database.ledgerPool, log);
  const housekeeping = startHousekeeping(database, runIds, log);
  const clock = watchClock(database, log);
  const stop = () => {
    for (const watch of [evidence, traces, schema, space, housekeeping, runIds, clock]) watch?.stop();
  };
  return { evidence, traces, schema, space, runIds, stop };
}
