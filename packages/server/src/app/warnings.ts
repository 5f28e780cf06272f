import { describeFault } from '../database/clock.ts';
import type { Pools } from '../database/pools.ts';
import { requireSeals } from '../database/seals.ts';
import { countRefusedLogs, type HeadStore, headStoreOf } from '../ledger/head-memory.ts';
import type { Watches } from './watches.ts';

const NO_MEMORY_FOLDER =
  'no memory folder: if an older state of the database is restored while no server runs, no server detects it; set COUNTERSIGN_MEMORY_DIR';

function memoryWarning(store: HeadStore | undefined): string | undefined {
  if (store === undefined) return NO_MEMORY_FOLDER;
  if (store.fault === undefined) return undefined;
  return `the memory folder cannot be used (${store.fault}), so it may lack the newest checkpoints; the server's log names the file`;
}

/** The current warnings of a ready server, one line each. /readyz shows them. */
export function warningsOf(
  { clock, pool }: Pick<Pools, 'clock' | 'pool'>,
  { space, readOnly, evidence, ledgers, traces, schema }: Watches,
): string[] {
  const fault = clock.fault();
  const refused = countRefusedLogs(pool);
  const warnings = [
    fault && `clock unsafe: ${describeFault(fault)}`,
    memoryWarning(headStoreOf(pool)),
    refused === 0
      ? undefined
      : `logs refused: ${refused} (changed outside the server); the server's log names the workspace, \`ledger verify\` says what is wrong`,
    space?.isLow ? `new records are rejected: ${space.summary}` : undefined,
    readOnly.summary,
    requireSeals(pool).broken.summary,
    evidence.summary,
    ledgers.summary,
    traces.summary,
    schema.summary,
  ];
  return warnings.filter((warning) => warning !== undefined);
}
