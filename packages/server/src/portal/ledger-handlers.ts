import type { ListedEntry, LogStatus, PortalLog } from '@countersign/core/portal/ledger-routes';
import { inReadTransaction, type Transaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { LogRewrittenError } from '../ledger/log-tree.ts';
import { readSealedHead } from '../ledger/sealed-heads.ts';
import { LOG_NAMES, type LogName } from '../storage/log-heads.ts';
import {
  findAdjacentEntries,
  findEntry,
  isLeftOut,
  listActions,
  listEntries,
  type PortalEntry,
} from '../storage/portal/ledger.ts';
import { findLatestCheckpoint } from '../storage/tree.ts';
import { differingRows } from './differing-rows.ts';
import { handlers, Reply } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, rangeOf, requireFound, wholeNumberOf } from './query.ts';
import { findSeqRange } from './seq-range.ts';
import { beginningOf } from './shown-text.ts';

const NDJSON = 'application/x-ndjson; charset=utf-8';
const NOTE = 'text/plain; charset=utf-8';
const SEQ_BOUNDS = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const SIZE_BOUNDS = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
/** The maximum length of a rationale in the list, in code points. */
const RATIONALE_LENGTH_MAX = 500;

/** The members of an entry's canonical text that are not columns. */
interface EntryMembers {
  subject: string | null;
  rationale: string | null;
  framework: string | null;
  retention_until: string | null;
  metadata: Record<string, unknown> | null;
}

/** The audit ledger, and the proofs of all logs. */
export const ledgerHandlers = handlers({
  'ledger.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['wholeNumber']);
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const filter = {
        ...(await findSeqRange(tx, 'audit', rangeOf(query), after)),
        actor: query.actor ?? null,
        action: query.action ?? null,
        agentId: idOf(query.agent_id),
        traceId: query.trace_id ?? null,
      };
      const { items, next } = await pageOf(
        query,
        (limit) => listEntries(tx, filter, limit),
        ({ seq }) => [seq],
        isLeftOut,
      );
      return { items: items.map(listedEntry), next };
    });
  },

  'ledger.actions': async ({ workspace, parts }) => ({
    actions: await inReadTransaction(parts.readPool, workspace, listActions),
  }),

  'ledger.read': async ({ workspace, params, parts }) => {
    const seq = Number(params.seq);
    const [head, entry, adjacent] = await inReadTransaction(parts.readPool, workspace, async (tx) => {
      // The head is read first, so that all entries that it counts are visible to the later statements.
      const headState = await readHeadState(tx, 'audit');
      return [headState, ...(await Promise.all([findEntry(tx, seq), findAdjacentEntries(tx, seq)]))] as const;
    });
    const { document, prev_hash } = requireFound(entry);
    const { framework, retention_until, metadata, rationale } = JSON.parse(document) as EntryMembers;
    return {
      ...listedEntry(entry!),
      ...{ rationale, framework, retention_until, metadata, prev_hash, document },
      previous: adjacent.find((each) => each.seq < seq) ?? null,
      next: adjacent.find((each) => each.seq > seq) ?? null,
      last_seq: 'fault' in head ? null : head.rows,
    };
  },

  'ledger.head': async ({ workspace, parts }) => {
    const head = await inReadTransaction(parts.readPool, workspace, (tx) => readSealedHead(tx, 'audit'));
    return { tenant_id: workspace, seq: head.seq, row_hash: head.rowHash };
  },

  'ledger.export': async ({ workspace, query, parts, memory }) => {
    const range = { from: wholeNumberOf('from', query.from, SEQ_BOUNDS) ?? 1, to: wholeNumberOf('to', query.to, SEQ_BOUNDS) };
    if (range.to !== undefined && range.from > range.to)
      throw validationFailed({
        path: '/from',
        code: 'bad_query',
        message: `from (${range.from}) must not be greater than to (${range.to})`,
      });
    const lines = await parts.reader.entries(workspace, 'audit', range, memory);
    return Reply.file(lines, NDJSON, `ledger-${workspace}.ndjson`);
  },

  'logs.list': async ({ workspace, parts }) => ({
    items: await inReadTransaction(parts.readPool, workspace, (tx) => Promise.all(LOG_NAMES.map((log) => readStatus(tx, log)))),
    differing_rows: differingRows(parts, workspace),
  }),

  'logs.checkpoint': async ({ workspace, params, parts }) => {
    const { note, size } = await parts.reader.checkpoint(workspace, params.log as PortalLog);
    return Reply.file(note, NOTE, `checkpoint-${params.log}-${size}.txt`);
  },

  'logs.inclusion': async ({ workspace, params, parts }) => {
    const proof = await parts.reader.inclusionProof(workspace, params.log as PortalLog, Number(params.seq));
    return Reply.file(requireFound(proof), NOTE, `inclusion-${params.log}-${params.seq}.txt`);
  },

  'logs.consistency': async ({ workspace, params, query, parts }) => {
    const first = wholeNumberOf('first', query.first, SIZE_BOUNDS)!;
    const second = wholeNumberOf('second', query.second, SIZE_BOUNDS);
    const proof = await parts.reader.consistencyProof(workspace, params.log as PortalLog, first, second);
    if (proof !== undefined) return proof;
    const message = 'first must not be greater than second, and second must not be greater than the number of rows of the log';
    throw validationFailed({ path: '/first', code: 'bad_query', message });
  },
});

async function readStatus(tx: Transaction, log: LogName): Promise<LogStatus> {
  const storedCheckpoint = await findLatestCheckpoint(tx, log);
  const checkpoint =
    storedCheckpoint === undefined ? null : { size: storedCheckpoint.size, signed_at: storedCheckpoint.signedAt };
  return { log, checkpoint, ...{ rows: 0, fault: null, ...(await readHeadState(tx, log)) } };
}

/** The number of rows of a log according to its head, or why the head is not valid. */
async function readHeadState(tx: Transaction, log: LogName): Promise<{ rows: number } | { fault: string }> {
  try {
    return { rows: (await readSealedHead(tx, log)).seq };
  } catch (error) {
    if (!(error instanceof LogRewrittenError)) throw error;
    return { fault: error.message };
  }
}

function listedEntry({ document, prev_hash: _, ...columns }: PortalEntry): ListedEntry {
  const { subject, rationale } = JSON.parse(document) as EntryMembers;
  return { ...columns, subject, rationale: beginningOf(rationale ?? null, RATIONALE_LENGTH_MAX) };
}
