import { readFileSync } from 'node:fs';
import { operations } from '@countersign/core/contract/operations';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { type OpenDatabase, openDatabase } from '../packages/server/src/app/open-database.ts';
import { startServer } from '../packages/server/src/app/start-server.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { Admission } from '../packages/server/src/database/admission.ts';
import { BatchWriter } from '../packages/server/src/database/batch-writer.ts';
import { isDivisionByZero } from '../packages/server/src/database/pool.ts';
import { Slots } from '../packages/server/src/database/slots.ts';
import { inTenantTransaction, type Transaction } from '../packages/server/src/database/transaction.ts';
import type { PublicApi } from '../packages/server/src/http/public-api.ts';
import { readBody } from '../packages/server/src/http/read-body.ts';
import { bodyReader } from '../packages/server/src/http/validate-body.ts';
import { appendAuditEntry } from '../packages/server/src/ingest/audit.ts';
import type { IngestReply } from '../packages/server/src/ingest/ingest-request.ts';
import type { Outcome } from '../packages/server/src/ingest/replays.ts';
import { type PreparedAudit, writeAudit } from '../packages/server/src/ingest/write-audit.ts';
import { appendEntries } from '../packages/server/src/ledger/append.ts';
import { RememberedHeads } from '../packages/server/src/ledger/remembered-heads.ts';
import { appendWithoutTree, auditWriter } from './append-without-tree.ts';
import { bareStorage } from './bare-storage.ts';
import { LIMIT_PATHS } from './limit-paths.ts';

/**
 * The measured server: the product's server plus the routes of the benchmark (limit-paths.ts). It ends when the process that started it
 * ends (measured-server.ts).
 */
const config = readConfig();
const database = await openDatabase(config, (line) => process.stderr.write(`${line}\n`), 'set-up');
const running = await startServer(config, database, pino({ level: config.logLevel }), {
  alsoRegister: (app, api) => registerLimits(app, api, database),
});
process.send?.({ ready: running.address.port });

process.on('message', (message) => {
  if (message === 'peak') process.send?.({ peakBytes: peakBytes() });
});
for (const event of ['SIGTERM', 'disconnect']) {
  process.once(event, async () => {
    await running.close();
    await database.close();
    process.exit(0);
  });
}

/** The largest resident size since the start, from the kernel. If the kernel does not provide it, the current size. */
function peakBytes(): number {
  try {
    const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (kib !== undefined) return Number(kib) * 1024;
  } catch {
    // Not Linux.
  }
  return process.memoryUsage().rss;
}

/** Registers the routes in LIMIT_PATHS. They run in this server, so that they share its process and pools with the product's routes. */
function registerLimits(app: FastifyInstance, api: PublicApi, { pool }: OpenDatabase): void {
  const heads = new RememberedHeads();
  const slots = new Slots(config.databaseConnections);
  const createWriter = (
    name: string,
    itemsMax: number,
    write: (tx: Transaction, items: readonly PreparedAudit[]) => Promise<Outcome[]>,
  ) =>
    new BatchWriter<PreparedAudit, IngestReply>({
      name,
      itemsMax,
      inFlightMax: 1,
      admission: new Admission(config.queueBytesMax),
      slots,
      write: (tenantId, items) =>
        inTenantTransaction(pool, tenantId, (tx) => write(tx, items)).catch((error: unknown) => {
          // The product's own writer moves the same heads, so a remembered head can be out of date.
          heads.drop(tenantId, isDivisionByZero(error));
          throw error;
        }),
    });
  const writers = {
    [LIMIT_PATHS.auditSingly]: createWriter('audit-singly', 1, (tx, items) => writeAudit(tx, items, heads)),
    [LIMIT_PATHS.auditWithTree]: createWriter('audit-with-tree', 128, auditWriter(appendEntries, heads)),
    [LIMIT_PATHS.auditWithoutTree]: createWriter('audit-without-tree', 128, auditWriter(appendWithoutTree, heads)),
  };
  const readTrace = bodyReader(operations.ingestTrace);
  const readEntry = bodyReader(operations.appendAuditEntry);
  const readCheck = bodyReader(operations.checkPromotion);
  const bare = bareStorage(pool, slots, config.queueBytesMax);
  type Handler = (
    document: Buffer,
    principal: Awaited<ReturnType<typeof api.authenticator.authenticate>>,
  ) => Promise<{ json: string }>;
  const handlers: Record<string, Handler> = {
    [LIMIT_PATHS.traceReadOnly]: async (document) => {
      readTrace(document);
      return { json: '{"ok":true}' };
    },
    [LIMIT_PATHS.tiny]: async () => ({ json: '{"ok":true}' }),
    [LIMIT_PATHS.bare]: (document, { tenantId }) => bare.store(tenantId, document),
    [LIMIT_PATHS.bareCheck]: (document, { tenantId }) => bare.storeCheck(tenantId, document, readCheck(document)),
  };
  for (const [path, audit] of Object.entries(writers)) {
    handlers[path] = async (document, principal) => {
      const endpointRequest = { principal, document, idempotencyKey: undefined, prefersAttestation: false };
      return appendAuditEntry.submit(
        { ...api.writers, audit },
        endpointRequest,
        appendAuditEntry.prepare(endpointRequest, readEntry(document)),
      );
    };
  }
  for (const [path, handle] of Object.entries(handlers)) {
    app.post(path, async (request, reply) => {
      const principal = await api.authenticator.authenticate(request.headers, 'audit');
      const readingLimits = { bytesMax: api.bytesMax.report, admission: api.reading, tenantId: principal.tenantId };
      const { document, release } = await readBody(request.raw, readingLimits);
      try {
        const { json } = await handle(document, principal);
        return await reply.header('content-type', 'application/json; charset=utf-8').send(json);
      } finally {
        release();
      }
    });
  }
}
