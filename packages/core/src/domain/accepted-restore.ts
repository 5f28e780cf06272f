import type { TreeLog } from './checkpoint.ts';
import { fromBase64, sameBytes } from './signed-note.ts';

/** The action of the audit entry by which an operator accepts a restored backup (docs/formats.md, "Accepted restores"). */
export const RESTORE_ACCEPTED = 'ledger.restore_accepted';

/** The head of a log, as an entry names it. */
interface NamedHead {
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** An accepted restore: for each of its logs, the head that was abandoned and the restored head, from which the log continued. */
export interface AcceptedRestore {
  /** The number of the audit row with the entry. */
  seq: number;
  logs: Partial<Record<TreeLog, { abandoned: NamedHead; restored: NamedHead }>>;
}

/** The members of an audit entry that are read. The input is untrusted. */
interface Entry {
  seq?: unknown;
  action?: unknown;
  recorded_by?: unknown;
  metadata?: unknown;
}

const LOGS: readonly TreeLog[] = ['audit', 'decisions', 'evidence', 'keys', 'traces'];

/**
 * Returns the restore in an audit entry; undefined if the entry is not an accepted restore. Ingestion keys can write the same action, so
 * only entries with `recorded_by` `operator` count.
 */
export function restoreIn({ seq, action, recorded_by: by, metadata }: Entry): AcceptedRestore | undefined {
  if (action !== RESTORE_ACCEPTED || by !== 'operator' || !isObject(metadata) || !isObject(metadata.logs)) return undefined;
  const logs: AcceptedRestore['logs'] = {};
  for (const log of LOGS) {
    const heads = Object.hasOwn(metadata.logs, log) ? metadata.logs[log] : undefined;
    if (!isObject(heads)) continue;
    const [abandoned, restored] = [headIn(heads.abandoned), headIn(heads.restored)];
    if (abandoned !== undefined && restored !== undefined) logs[log] = { abandoned, restored };
  }
  return { seq: Number(seq), logs };
}

function headIn(value: unknown): NamedHead | undefined {
  if (!isObject(value) || typeof value.root !== 'string') return undefined;
  const { size } = value;
  const root = fromBase64(value.root);
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 && root?.length === 32 ? { size, root } : undefined;
}

/**
 * Returns the text to append to the fault message of a head that does not match. It names the accepted restore that can explain the
 * mismatch, and is empty if no restore can. A restore can explain only heads that are larger than its restored head, and not larger than
 * its abandoned head.
 */
export function restoreRemark(head: NamedHead, log: TreeLog, restores: readonly AcceptedRestore[]): string {
  const matching = restores.filter(({ logs: { [log]: heads } }) =>
    heads === undefined ? false : heads.restored.size < head.size && head.size <= heads.abandoned.size,
  );
  const isAbandonedHead = ({ logs: { [log]: heads } }: AcceptedRestore) =>
    heads!.abandoned.size === head.size && sameBytes(heads!.abandoned.root, head.root);
  const restore = matching.find(isAbandonedHead) ?? matching[0];
  if (restore === undefined) return '';
  const { abandoned, restored } = restore.logs[log]!;
  const description = isAbandonedHead(restore) ? 'is the abandoned head' : 'may be a head of the abandoned rows';
  return (
    `; row ${restore.seq} of the audit ledger (${RESTORE_ACCEPTED}) says that an operator restored an older state: the log had ` +
    `${abandoned.size} rows and continued after row ${restored.size}. The head that does not match ${description}: ` +
    'ask the operator what the abandoned rows contained'
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
