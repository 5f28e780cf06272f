import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChainedRow } from '@countersign/core/domain/audit-chain';
import type { ChainReport } from '@countersign/core/domain/chain-report';
import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import { digests, sha256 } from '../../packages/server/src/crypto/digests.ts';
import { verifyAuditLedger } from '../../packages/server/src/ledger/verify-audit-ledger.ts';
import { createWorkspace } from '../../packages/server/src/workspace/create-workspace.ts';
import { fillLedger } from '../chain.ts';
import type { BenchEnvironment } from '../environment.ts';
import { type Measure, type Row, rowOf } from '../rounds.ts';

/**
 * Compares the verification of a chain (in memory, from an export file, from the database) with hashing: SHA-256, row by row, over the
 * prefix of row hashes and the canonical text. Only the last 10,000 rows are hashed, which are already in memory.
 */
export async function verify({ database: { pool } }: BenchEnvironment, rows: number): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-export-'));
  try {
    const tenantId = await createWorkspace(pool, 'verify');
    const path = join(folder, 'ledger.ndjson');
    const file = await open(path, 'w');
    let lastRows: ChainedRow[] = [];
    for await (const appended of fillLedger(pool, tenantId, rows)) {
      await file.write(appended.map(({ canonical, rowHash }) => `${canonical.slice(0, -1)},"row_hash":"${rowHash}"}\n`).join(''));
      lastRows = appended;
    }
    await file.close();
    const hashing = measureOfHashing(lastRows);
    const rateOf = async (verifyAll: () => Promise<ChainReport>): Promise<number> => {
      const startedAt = performance.now();
      const { entries, firstBad } = await verifyAll();
      if (firstBad !== undefined || entries < rows)
        throw new Error(`the chain does not verify: ${JSON.stringify({ entries, firstBad })}`);
      return (entries / (performance.now() - startedAt)) * 1000;
    };
    return [
      await compareWithHashing(hashing, 'verifying rows in memory', () => rateInMemory(lastRows)),
      await compareWithHashing(hashing, `verifying an export of ${rows} rows`, () =>
        rateOf(() => verifyExport(createReadStream(path), { digests, sha256 })),
      ),
      await compareWithHashing(hashing, `verifying ${rows} rows in the database`, () =>
        rateOf(() => verifyAuditLedger(pool, tenantId)),
      ),
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Measures the hashing for one second before and one second after the work. The limit in the returned row is the mean of both rates. */
async function compareWithHashing(hashing: Measure, work: string, measureRate: () => Promise<number>): Promise<Row> {
  const before = await hashing(1);
  const rate = await measureRate();
  const limitRate = (before + (await hashing(1))) / 2;
  const title = { work, limit: 'SHA-256, row by row, in memory', unit: 'rows/s', target: { required: 0.1, stretch: 0.25 } };
  return rowOf(title, [{ rate, limitRate }]);
}

function measureOfHashing(rows: readonly ChainedRow[]): Measure {
  const texts = rows.map(({ canonical }) => `countersign/audit-entry/v1\n${canonical}`);
  return async (seconds) => {
    const startedAt = performance.now();
    let hashed = 0;
    for (; performance.now() - startedAt < seconds * 1000; hashed += texts.length)
      for (const text of texts) digests.sha256Hex(text);
    return (hashed / (performance.now() - startedAt)) * 1000;
  };
}

/** The rate of the verifier alone, on parsed rows, measured for one second, as in `measureOfHashing`. */
async function rateInMemory(rows: readonly ChainedRow[]): Promise<number> {
  const parsed = rows.map(({ canonical, rowHash }) => ({ ...JSON.parse(canonical), row_hash: rowHash }));
  const startedAt = performance.now();
  let verifiedRows = 0;
  for (; performance.now() - startedAt < 1000; verifiedRows += parsed.length) {
    const verifier = new ChainVerifier(digests);
    verifier.head = { seq: rows[0]!.entry.seq - 1, rowHash: rows[0]!.entry.prev_hash };
    const fault = parsed.map((row) => verifier.next(row)).find((each) => each !== undefined);
    if (fault !== undefined) throw new Error(`the chain does not verify: ${JSON.stringify(fault)}`);
  }
  return (verifiedRows / (performance.now() - startedAt)) * 1000;
}
