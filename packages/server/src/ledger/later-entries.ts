import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { readAuditPage } from '../storage/audit-pages.ts';
import { LogRewrittenError, storedTree } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';
import { parsedDocument } from './stored-document.ts';
import { storedPages } from './stored-pages.ts';

/** The entries of the audit ledger to search for. */
export interface EntrySearch {
  /** The search starts after this entry number; 0 searches the whole ledger. */
  after: number;
  matches: (entry: Record<string, unknown>) => boolean;
  /** Awaited after each page of entries. It can limit the load on the database. If it rejects, the search stops with its error. */
  afterPage: () => Promise<void>;
}

/**
 * Whether the audit ledger has an entry after number `after` for which `matches` is true. Reads the documents and not the columns, and
 * compares the tree over them with the sealed head. So it notices if one of these entries was changed or deleted outside the server.
 * @throws LogRewrittenError if the entries are not those that the head covers.
 */
export async function hasLaterEntry(pool: Pool, tenantId: string, { after, matches, afterPage }: EntrySearch): Promise<boolean> {
  const { head, tree } = await inTenantTransaction(pool, tenantId, async (tx) => {
    const head = await readSealedHead(tx, 'audit');
    if (head.seq < after) throw rewritten(tenantId, `it has ${head.seq} rows, and row ${after} is missing`);
    return { head, tree: await storedTree(tx, 'audit', after) };
  });
  let found = false;
  const pages = { log: 'audit', read: readAuditPage, firstSeq: after + 1, lastSeq: head.seq } as const;
  for await (const page of storedPages(pool, tenantId, pages)) {
    for (const { document } of page) {
      tree.append(Buffer.from(rowHashOf(document, digests), 'hex'));
      const entry = parsedDocument(document);
      if (entry !== undefined && matches(entry)) found = true;
    }
    await afterPage();
  }
  if (tree.size === head.seq && sameBytes(Buffer.concat(tree.roots), head.tree.frontier)) return found;
  throw rewritten(tenantId, `the rows after ${after} are not those that its head of ${head.seq} rows covers`);
}

const rewritten = (tenantId: string, fault: string): LogRewrittenError =>
  new LogRewrittenError(`the log audit of tenant ${tenantId}: ${fault}`);
