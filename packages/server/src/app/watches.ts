import type { Logger } from 'pino';
import { watchClock } from '../background/clock-watch.ts';
import { type EvidenceWatch, watchEvidence } from '../background/evidence-watch.ts';
import { watchFreeSpace } from '../background/free-space-watch.ts';
import { startHousekeeping } from '../background/housekeeping.ts';
import { type LogWatch, type VerifyLog, watchLogs } from '../background/log-watch.ts';
import { type ReadOnlyWatch, watchReadOnly } from '../background/read-only-watch.ts';
import { startRetention } from '../background/retention-schedule.ts';
import { RunIdMerging } from '../background/run-id-merging.ts';
import { type SchemaWatch, watchSchema } from '../background/schema-watch.ts';
import type { Config } from '../config/config.ts';
import type { FreeSpace } from '../database/free-space.ts';
import { verifyKnownLog } from '../ledger/verify-log.ts';
import { noteKeysOf } from '../secrets/instance-signer.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import type { OpenDatabase } from './open-database.ts';

/** The background work of a server. */
export interface Watches {
  readonly evidence: EvidenceWatch;
  /** Verifies the logs `audit`, `decisions`, `evidence` and `keys`. */
  readonly ledgers: LogWatch;
  /** Verifies the trace log, in its own rounds, because this takes longer. */
  readonly traces: LogWatch;
  readonly schema: SchemaWatch;
  readonly readOnly: ReadOnlyWatch;
  /** The free space of the embedded database; undefined for an external one. */
  readonly space: FreeSpace | undefined;
  readonly runIds: RunIdMerging;
  stop(): void;
}

/** Starts the periodic work, except the checkpoints and `space`. The caller starts `space`, and calls `schema.round` for the first time. */
export function startWatches(config: Config, database: OpenDatabase, log: Logger): Watches {
  const evidence = watchEvidence(database, log);
  const verify = verifierOf(database);
  const ledgers = watchLogs(database, log, { logs: ['audit', 'decisions', 'evidence', 'keys'], verify });
  const traces = watchLogs(database, log, { logs: ['traces'], verify });
  const schema = watchSchema(database, log);
  const space = watchFreeSpace(config, database.embeddedIn, log);
  const runIds = new RunIdMerging(database.ledgerPool, log);
  const housekeeping = startHousekeeping(database, runIds, log);
  const retention = startRetention(database, log);
  const clock = watchClock(database, log);
  const readOnly = watchReadOnly(database, log);
  const stop = () => {
    for (const watch of [evidence, ledgers, traces, schema, space, housekeeping, retention, runIds, clock, readOnly])
      watch?.stop();
  };
  return { evidence, ledgers, traces, schema, readOnly, space, runIds, stop };
}

/** Verifies logs with the server's master secret and the instance's signing keys. */
const verifierOf =
  ({ ledgerPool, secrets, signer }: OpenDatabase): VerifyLog =>
  async (tenantId, log, pause) => {
    const keys = noteKeysOf(signer.instanceId, await listSigningKeys(ledgerPool));
    return verifyKnownLog(ledgerPool, secrets.masterSecret, { tenantId, log }, { keys, pause });
  };
