import { setTimeout as sleep } from 'node:timers/promises';
import { openCheckpoint, originOf, type TreeHead } from '@countersign/core/domain/checkpoint';
import { leafHash, nodeHash } from '@countersign/core/domain/merkle-tree';
import { toBase64 } from '@countersign/core/domain/signed-note';
import pino from 'pino';
import { expect } from 'vitest';
import { sha256, verifyEd25519 } from '../../src/crypto/digests.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { ensureCheckpoint } from '../../src/ledger/checkpoints.ts';
import type { LogName } from '../../src/storage/log-heads.ts';
import { paths, type TestServer } from '../harness/test-server.ts';

/** The root over all leaves by the definition of RFC 6962, without this project's incremental code. */
function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array());
  if (leaves.length === 1) return leafHash(leaves[0]!, sha256);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)), sha256);
}

/** A head as text, for comparison. */
export const headText = ({ origin, size, root }: TreeHead): string => `${origin} ${size} ${toBase64(root)}`;

const LEAVES: Record<LogName, string> = {
  audit: 'SELECT row_hash AS data FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq',
  decisions: 'SELECT response_sha256 AS data FROM countersign.decisions WHERE tenant_id = $1 ORDER BY seq',
  evidence: `SELECT sha256(convert_to(E'countersign/evidence/v1\\n' || document, 'UTF8')) AS data FROM countersign.evidence_events WHERE tenant_id = $1 ORDER BY seq`,
  keys: `SELECT sha256(convert_to(E'countersign/key-event/v2\\n' || document, 'UTF8')) AS data FROM countersign.key_events WHERE tenant_id = $1 ORDER BY seq`,
  traces: `SELECT sha256(convert_to(E'countersign/traces/v1\\n' || document, 'UTF8')) AS data FROM countersign.trace_events WHERE tenant_id = $1 ORDER BY seq`,
};

/** Functions that append to audit ledgers of a server, sign and read checkpoints, and change rows without triggers. */
export function checkpointsOf(server: TestServer) {
  const { sql } = server.database;
  const signHead = async (tenantId: string, log: LogName = 'audit') => {
    const { note } = await inTenantTransaction(server.open.lookupPool, tenantId, (tx) =>
      ensureCheckpoint(tx, server.open.signer.keys, { log }, undefined),
    );
    return headIn(note);
  };
  const headIn = (note: string): TreeHead => {
    const opened = openCheckpoint(note, server.open.signer.keys, verifyEd25519, sha256);
    if ('fault' in opened) throw new Error(opened.fault);
    return opened.head;
  };
  return {
    signHead,
    append: async (key: string, count: number) => {
      const responses = await Promise.all(
        Array.from({ length: count }, () => server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' })),
      );
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    },
    sizes: async (tenantId: string, log: LogName = 'audit') =>
      (
        await sql<{ size: number }>('SELECT size FROM countersign.checkpoints WHERE tenant_id = $1 AND log = $2 ORDER BY size', [
          tenantId,
          log,
        ])
      ).map(({ size }) => Number(size)),
    /**
     * Signs a checkpoint of a log. Expects all stored checkpoints of the log to have the roots that `naiveRoot` computes, and the last one
     * to cover all rows. Returns the sizes of the checkpoints in ascending order.
     */
    expectCorrectCheckpoints: async (tenantId: string, log: LogName) => {
      await signHead(tenantId, log);
      const leaves = (await sql<{ data: Buffer }>(LEAVES[log], [tenantId])).map(({ data }) => data);
      const stored = await sql<{ note: string }>(
        'SELECT note FROM countersign.checkpoints WHERE tenant_id = $1 AND log = $2 ORDER BY size',
        [tenantId, log],
      );
      const heads = stored.map(({ note }) => headIn(note));
      expect(heads.map(headText)).toEqual(
        heads.map(({ size }) => headText({ origin: originOf(tenantId, log), size, root: naiveRoot(leaves.slice(0, size)) })),
      );
      expect(heads.at(-1)?.size).toBe(leaves.length);
      return heads.map(({ size }) => size);
    },
    /** Runs a statement without triggers. `$T` in it is the condition on the tenant. */
    tamper: async (table: string, statement: string, tenantId: string) => {
      await sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
      await sql(statement.replaceAll('$T', `tenant_id = '${tenantId}'`));
      await sql(`ALTER TABLE countersign.${table} ENABLE TRIGGER ALL`);
    },
  };
}

/** Waits until a condition holds, for at most 8 seconds. */
export const until = async (what: string, holds: () => unknown) => {
  for (const deadline = Date.now() + 8_000; ; await sleep(50)) {
    if (await holds()) return;
    if (Date.now() > deadline) throw new Error(`timed out waiting until ${what}`);
  }
};

/** A logger of warnings and errors, whose lines the test can read. */
export function captureLog(): { log: pino.Logger; lines: string[] } {
  const lines: string[] = [];
  return { log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }), lines };
}
