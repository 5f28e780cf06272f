import type { AgentName } from '@countersign/core/portal/agent-facts';
import type { AdjacentEntry } from '@countersign/core/portal/ledger-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, lookUp } from './fragments.ts';

/** A filter of entries, and a range of their numbers. A member that is null does not filter. */
export interface EntryFilter {
  actor: string | null;
  action: string | null;
  agentId: string | null;
  traceId: string | null;
  /** The lowest number. */
  first: number;
  /** The number above the highest one. */
  end: number;
}

/** The columns of an entry, and its canonical text. */
export interface PortalEntry {
  seq: number;
  id: string;
  recorded_at: string;
  recorded_by: string;
  actor: string;
  action: string;
  trace_id: string | null;
  agent: AgentName | null;
  row_hash: string;
  prev_hash: string | null;
  document: string;
}

/** When the documents of a page have reached this total size, the documents of further entries are not read. */
const PAGE_BYTES = 2 * 1024 * 1024;

const columns = (
  document: string,
) => `l.seq, l.id, ${instantText('l.recorded_at')} AS recorded_at, l.recorded_by, l.actor, l.action, l.trace_id, ${agentJson('a')} AS agent,
  encode(l.row_hash, 'hex') AS row_hash, encode(l.prev_hash, 'hex') AS prev_hash, ${document} AS document`;
const AGENT = lookUp('agents', 'a', 'id', 'l.agent_id');

// `octet_length` reads only the stored size of a long text, so documents that are left out are not read.
const LIST = sql<PortalEntry>(
  'portal_list_entries',
  `SELECT ${columns(`CASE WHEN l.bytes_before < ${PAGE_BYTES} THEN l.document ELSE '' END`)} FROM (
     SELECT *, sum(octet_length(l.document)) OVER (ORDER BY l.seq DESC) - octet_length(l.document) AS bytes_before FROM (
     SELECT * FROM countersign.audit_entries AS l
      WHERE l.tenant_id = $1 AND l.seq < $2 AND l.seq >= $3 AND ($4::text IS NULL OR l.actor = $4) AND ($5::text IS NULL OR l.action = $5)
        AND ($6::uuid IS NULL OR l.agent_id = $6) AND ($7::text IS NULL OR l.trace_id = $7)
      ORDER BY l.seq DESC LIMIT $8) AS l) AS l ${AGENT} ORDER BY l.seq DESC`,
);

/**
 * The entries that match a filter, latest first, at most `limit`. When the documents reach PAGE_BYTES, all further entries have an empty
 * document, and the caller ends the page before them (`isLeftOut`).
 */
export const listEntries = (tx: Transaction, filter: EntryFilter, limit: number): Promise<PortalEntry[]> =>
  tx.run(LIST, [tx.tenantId, filter.end, filter.first, filter.actor, filter.action, filter.agentId, filter.traceId, limit]);

/** Whether the document of a listed entry was not read, because the page was full. */
export const isLeftOut = ({ document }: PortalEntry): boolean => document === '';

const FIND = sql<PortalEntry>(
  'portal_find_entry',
  `SELECT ${columns('l.document')} FROM countersign.audit_entries AS l ${AGENT} WHERE l.tenant_id = $1 AND l.seq = $2`,
);

/** One entry by its number; undefined if there is none. */
export const findEntry = async (tx: Transaction, seq: number): Promise<PortalEntry | undefined> =>
  (await tx.run(FIND, [tx.tenantId, seq]))[0];

const ADJACENT = sql<AdjacentEntry>(
  'portal_find_adjacent_entries',
  `SELECT seq, encode(row_hash, 'hex') AS row_hash, encode(prev_hash, 'hex') AS prev_hash
     FROM countersign.audit_entries WHERE tenant_id = $1 AND seq IN ($2::bigint - 1, $2::bigint + 1)`,
);

/** The entries with the numbers directly before and after `seq`, if they exist. */
export const findAdjacentEntries = (tx: Transaction, seq: number): Promise<AdjacentEntry[]> =>
  tx.run(ADJACENT, [tx.tenantId, seq]);

// Goes from one action to the next in the index, without reading the entries.
const ACTIONS = sql<{ action: string }>(
  'portal_list_actions',
  `WITH RECURSIVE named AS (
     (SELECT action, 1 AS place FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY action LIMIT 1)
     UNION ALL
     SELECT next.action, named.place + 1 FROM named
      CROSS JOIN LATERAL (SELECT l.action FROM countersign.audit_entries AS l WHERE l.tenant_id = $1 AND l.action > named.action ORDER BY l.action LIMIT 1) AS next
      WHERE named.place < 200)
   SELECT action FROM named ORDER BY action`,
);

/** The first 200 different actions in the ledger, by name. */
export const listActions = async (tx: Transaction): Promise<string[]> =>
  (await tx.run(ACTIONS, [tx.tenantId])).map(({ action }) => action);

const seqAt = (name: string, table: string) =>
  sql<{ seq: number }>(
    name,
    // The middle is a column of `search`, because PostgreSQL would not use the index for an expression (spans.ts, isCurrentSpan).
    `WITH RECURSIVE search AS (
       SELECT first.below, first.above, (first.below + first.above) / 2 AS middle
         FROM (SELECT $3::bigint AS below,
                      coalesce((SELECT max(seq) FROM countersign.${table} WHERE tenant_id = $1), 0) + 1 AS above) AS first
       UNION ALL
       SELECT next.below, next.above, (next.below + next.above) / 2
         FROM search
         LEFT JOIN LATERAL (SELECT x.seq, x.recorded_at FROM countersign.${table} AS x
           WHERE x.tenant_id = $1 AND x.seq >= search.middle AND x.seq < search.above ORDER BY x.seq LIMIT 1) AS probe ON true
        CROSS JOIN LATERAL (
          SELECT CASE WHEN probe.recorded_at < $2::timestamptz THEN probe.seq ELSE search.below END AS below,
                 CASE WHEN probe.recorded_at < $2::timestamptz THEN search.above ELSE search.middle END AS above) AS next
        WHERE search.above - search.below > 1)
     SELECT min(above) AS seq FROM search`,
  );

const SEQ_AT = {
  audit: seqAt('portal_find_entry_at', 'audit_entries'),
  decisions: seqAt('portal_find_decision_at', 'decisions'),
};

/**
 * The number of the first row of a log after row `below` that was recorded at `at` or later; one above the last row if there is none. This
 * is a binary search in the primary key. It needs about 20 lookups for a million rows, and no other index. It requires that no clock
 * correction after row `below` set times back to before `at`.
 */
export const findSeqAt = async (tx: Transaction, log: 'audit' | 'decisions', at: string, below: number): Promise<number> =>
  (await tx.run(SEQ_AT[log], [tx.tenantId, at, below]))[0]!.seq;
