import { hash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction, type Transaction } from '../../src/database/transaction.ts';
import { exportLog } from '../../src/ledger/export.ts';
import { insertDecisions } from '../../src/storage/decisions.ts';
import { insertEvidenceEvents } from '../../src/storage/evidence-events.ts';
import { PAGE_BYTES_MAX } from '../../src/storage/log-pages.ts';
import { insertTraceEvent } from '../../src/storage/trace-events.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
});

/** The members in which the stored rows differ. */
interface Row {
  seq: number;
  eventHash: string;
  document: string;
}

const common = { recordedAt: '2026-01-01T00:00:00.000Z', recordedBy: 'operator' };
/** For each of three logs, a function that stores a row with a document of any size. */
const INSERT: Record<'decisions' | 'evidence' | 'traces', (tx: Transaction, row: Row) => void> = {
  decisions: (tx, { seq, document }) => {
    const id = randomUUID();
    const outcome = { agentId: null, evaluationId: null, allowed: false, reason: 'agent_not_found', event: 'blocked' };
    const responseSha256 = hash('sha256', document);
    insertDecisions(tx, [{ ...common, ...outcome, seq, id, responseSha256, document, evidence: '{}' }]);
  },
  evidence: (tx, row) => insertEvidenceEvents(tx, [row]),
  traces: (tx, row) => insertTraceEvent(tx, row),
};

/** Stores rows in a log. `sizes` has the number of bytes of each row's document, by `seq`. */
const store = (tenantId: string, log: keyof typeof INSERT, sizes: ReadonlyMap<number, number>) =>
  inTenantTransaction(server.open.pool, tenantId, async (tx) => {
    for (const [seq, bytes] of sizes)
      INSERT[log](tx, { seq, eventHash: hash('sha256', `${seq}`), document: `{"x":"${'x'.repeat(bytes - 8)}"}` });
  });

/** The sizes of an export's pages, the number of its rows, and the bytes that the export reserved. */
async function readExport(tenantId: string, log: keyof typeof INSERT) {
  const pages: number[] = [];
  let [reserved, entries] = [0, 0];
  const reserve = (bytes: number) => (reserved = bytes);
  for await (const page of exportLog(server.open.pool, tenantId, log, {}, reserve)) {
    pages.push(page.lines.length);
    entries += page.entries;
  }
  return { pages, entries, reserved };
}

/** The maximum number of bytes that a line has in addition to its document. */
const LINE_BYTES = 40;

/** The bytes of the first three pages, which are in memory together: a response reads two pages before it starts, and then the third. */
const bytesInMemory = ([first, second, third]: number[]) => first! + second! + third!;

describe('the pages of an export', () => {
  test.each(Object.keys(INSERT) as (keyof typeof INSERT)[])(
    'of the log %s are limited in bytes and fit into the reserved memory',
    async (log) => {
      const tenantId = await server.workspace();
      await store(tenantId, log, new Map(Array.from({ length: 70 }, (_, index) => [index + 1, 256 * 1024])));
      const { pages, entries, reserved } = await readExport(tenantId, log);
      expect(entries).toBe(70);
      expect(pages.filter((bytes) => bytes > PAGE_BYTES_MAX + 16 * LINE_BYTES)).toEqual([]);
      expect(bytesInMemory(pages)).toBeLessThanOrEqual(reserved + 48 * LINE_BYTES);
    },
  );

  test('include a separate page for a row that is larger than the limit, and enough bytes are reserved for it', async () => {
    const tenantId = await server.workspace();
    await store(tenantId, 'traces', new Map([1000, 9 * 1024 * 1024, 1000].map((bytes, index) => [index + 1, bytes])));
    const { pages, reserved } = await readExport(tenantId, 'traces');
    expect(pages).toHaveLength(3);
    expect(bytesInMemory(pages)).toBeLessThanOrEqual(reserved + 3 * LINE_BYTES);
  });

  test('continue after gaps of hundreds and thousands of rows', async () => {
    const tenantId = await server.workspace();
    await store(tenantId, 'traces', new Map([1, 500, 3000].map((seq) => [seq, 100])));
    expect((await readExport(tenantId, 'traces')).entries).toBe(3);
  });
});
