import { attestationHeader, attestDecision } from '@countersign/core/domain/attestation';
import type { RunIdMerging } from '../background/run-id-merging.ts';
import { deriveDecisionKey } from '../crypto/digests.ts';
import type { Admission } from '../database/admission.ts';
import { BatchWriter, type Item, type TakeMore } from '../database/batch-writer.ts';
import { isDivisionByZero } from '../database/pool.ts';
import { Slots } from '../database/slots.ts';
import type { TenantNodes } from '../database/tenant-nodes.ts';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import type { Metrics } from '../http/metrics.ts';
import { BatchDocuments } from '../ingest/batch-documents.ts';
import type { IngestReply } from '../ingest/ingest-request.ts';
import type { RecordWriters } from '../ingest/record-writers.ts';
import { isStored, type Outcome } from '../ingest/replays.ts';
import { writeAudit } from '../ingest/write-audit.ts';
import { type DecisionKeys, writeDecisions } from '../ingest/write-decisions.ts';
import { writeDetailedEvaluations, writeEvaluations } from '../ingest/write-evaluations.ts';
import { writeTelemetry } from '../ingest/write-telemetry.ts';
import { writeTraces } from '../ingest/write-traces.ts';
import { RememberedHeads } from '../ledger/remembered-heads.ts';
import { documentsOfExport, writeExports } from '../otlp/write-exports.ts';
import type { OpenDatabase } from './open-database.ts';

/** For each kind of record: the largest number of items in a batch, and of concurrent batches of a tenant (docs/performance.md). */
const LIMITS = {
  traces: { itemsMax: 32, inFlightMax: 2 },
  exports: { itemsMax: 32, inFlightMax: 2 },
  telemetry: { itemsMax: 16, inFlightMax: 2 },
  // One batch at a time where order matters: the latest evaluation is the last one received. The kinds `audit` and `decisions` append to
  // the audit ledger, in which each entry contains the hash of the previous one.
  evaluations: { itemsMax: 64, inFlightMax: 1 },
  detailedEvaluations: { itemsMax: 64, inFlightMax: 1 },
  audit: { itemsMax: 128, inFlightMax: 1 },
  decisions: { itemsMax: 128, inFlightMax: 1 },
} as const;

/**
 * Kinds whose records get numbers from a sequence. On Citus the sequence is on the coordinator, so these records are written through the
 * coordinator.
 */
const NUMBERED_KINDS: ReadonlySet<keyof typeof LIMITS> = new Set(['evaluations', 'detailedEvaluations']);

/** The parts of a batch other than its items. */
interface BatchParts<I> {
  /** The documents of the items that the batch began with, compressed unless they are small. */
  documents: BatchDocuments;
  takeMore: TakeMore<I>;
}

/** The optional settings of a batch writer. */
interface WriterOptions<I> {
  /** The documents of an item. Unless they are small, they are compressed before the transaction. */
  documentsOf?: (item: I) => readonly Buffer[];
  /** Called after the commit of a batch. */
  onCommit?: (outcomes: readonly Outcome[], tenantId: string) => void;
  /** The remembered heads of the log that the batch appends to. The tenant's head is dropped if the batch fails. */
  heads?: RememberedHeads;
}

/** Creates one batch writer for each kind of record. All writers share one limit of queued bytes and one limit of connections. */
export function openRecordWriters(parts: {
  database: OpenDatabase;
  queue: Admission;
  metrics: Metrics;
  connections: number;
  runIds: RunIdMerging;
  /** The nodes of Citus to which records are written directly; undefined if there are none. */
  nodes: TenantNodes | undefined;
}): RecordWriters {
  const { database, queue, metrics, runIds, nodes } = parts;
  const slots = new Slots(parts.connections);
  const [auditHeads, traceHeads] = [new RememberedHeads(), new RememberedHeads()];
  const decisionKeys = cacheDecisionKeys(database.secrets.masterSecret);
  const inTransaction = <T>(name: keyof typeof LIMITS, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
    nodes === undefined || NUMBERED_KINDS.has(name)
      ? inTenantTransaction(database.pool, tenantId, work)
      : nodes.inTransaction(tenantId, work);
  const createWriter = <I extends Item>(
    name: keyof typeof LIMITS,
    write: (tx: Transaction, items: readonly I[], batch: BatchParts<I>) => Promise<Outcome[]>,
    { documentsOf, onCommit, heads }: WriterOptions<I> = {},
  ): BatchWriter<I, IngestReply> =>
    new BatchWriter({
      name,
      ...LIMITS[name],
      admission: queue,
      slots,
      write: async (tenantId, items, takeMore) => {
        database.clock.requireSafe();
        const documents =
          documentsOf === undefined ? BatchDocuments.none : await BatchDocuments.compress(items.flatMap(documentsOf));
        const outcomes = await inTransaction(name, tenantId, (tx) => write(tx, items, { documents, takeMore })).catch(
          (error: unknown) => {
            heads?.drop(tenantId, isDivisionByZero(error));
            throw error;
          },
        );
        onCommit?.(outcomes, tenantId);
        return outcomes;
      },
      observe: (items) => metrics.batchItems.observe({ kind: name }, items),
    });
  const countRuns = (_outcomes: readonly Outcome[], tenantId: string) => runIds.countBatch(tenantId);
  return {
    traces: createWriter('traces', (tx, items, { documents }) => writeTraces(tx, items, documents, traceHeads), {
      documentsOf: ({ document }) => [document],
      onCommit: countRuns,
      heads: traceHeads,
    }),
    exports: createWriter('exports', (tx, items, { documents }) => writeExports(tx, items, documents, traceHeads), {
      documentsOf: documentsOfExport,
      onCommit: countRuns,
      heads: traceHeads,
    }),
    telemetry: createWriter('telemetry', (tx, items, { documents }) => writeTelemetry(tx, items, documents), {
      documentsOf: ({ document }) => [document],
      onCommit: countRuns,
    }),
    evaluations: createWriter('evaluations', writeEvaluations),
    detailedEvaluations: createWriter('detailedEvaluations', writeDetailedEvaluations),
    audit: createWriter('audit', (tx, items, { takeMore }) => writeAudit(tx, items, auditHeads, takeMore), {
      onCommit: (outcomes) => metrics.ledgerAppends.inc(outcomes.filter(isStored).length),
      heads: auditHeads,
    }),
    decisions: createWriter('decisions', (tx, checks, { takeMore }) =>
      writeDecisions(tx, checks, takeMore, decisionKeys, ({ allowed, reason }) => {
        metrics.decisions.inc({ reason });
        if (!allowed) metrics.ledgerAppends.inc();
      }),
    ),
    attest: (decisionJson) => attestationHeader(attestDecision(JSON.parse(decisionJson), database.signer.keys)),
  };
}

/** Caches derived keys. The derivation depends only on the secret, the tenant and the key ID. */
function cacheDecisionKeys(masterSecret: Uint8Array): DecisionKeys {
  const cache = new Map<string, Uint8Array>();
  return (tenantId, keyId) => {
    const name = `${tenantId}|${keyId}`;
    let key = cache.get(name);
    if (key === undefined) {
      if (cache.size >= 10_000) cache.clear();
      key = deriveDecisionKey(masterSecret, tenantId, keyId);
      cache.set(name, key);
    }
    return key;
  };
}
