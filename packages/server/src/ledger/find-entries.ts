import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { digests, sha256 } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { readAuditPage } from '../storage/audit-pages.ts';
import { LogRewrittenError } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';
import { parsedDocument } from './stored-document.ts';
import { readStoredPages } from './stored-pages.ts';

/** The entries of the audit ledger to search for. */
export interface EntrySearch {
  matches: (entry: Record<string, unknown>) => boolean;
  /** Awaited after each page of entries. It can limit the load on the database. If it rejects, the search stops with its error. */
  afterPage: () => Promise<void>;
}

/**
 * Returns the entries of the audit ledger for which `matches` is true, oldest first. Reads the documents and not the columns, and compares
 * the tree over them with the sealed head. So it notices if an entry was changed or deleted outside the server.
 * @throws LogRewrittenError if the entries are not those that the head covers.
 */
export async function findEntries(
  pool: Pool,
  tenantId: string,
  { matches, afterPage }: EntrySearch,
): Promise<Record<string, unknown>[]> {
  const head = await inTenantTransaction(pool, tenantId, (tx) => readSealedHead(tx, 'audit'));
  const tree = new Frontier(sha256);
  const found: Record<string, unknown>[] = [];
  const pages = { log: 'audit', read: readAuditPage, firstSeq: 1, lastSeq: head.seq } as const;
  for await (const page of readStoredPages(pool, tenantId, pages)) {
    for (const { document } of page) {
      tree.append(Buffer.from(rowHashOf(document, digests), 'hex'));
      const entry = parsedDocument(document);
      if (entry !== undefined && matches(entry)) found.push(entry);
    }
    await afterPage();
  }
  if (tree.size === head.seq && sameBytes(Buffer.concat(tree.roots), head.tree.frontier)) return found;
  throw new LogRewrittenError(
    `the rows of the audit ledger of tenant ${tenantId} do not match the sealed head, which covers ${head.seq} rows; \`ledger verify\` names the row`,
  );
}
