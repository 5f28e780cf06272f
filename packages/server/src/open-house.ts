import { attestationHeader, attestDecision } from '@countersign/core/domain/attestation';
import type { Admission } from './database/admission.ts';
import { BatchWriter, type Item } from './database/batch-writer.ts';
import { isWrongGuess } from './database/pool.ts';
import { Slots } from './database/slots.ts';
import { inTenantTransaction, type Transaction } from './database/transaction.ts';
import { deriveDecisionKey } from './digests.ts';
import type { Metrics } from './http/metrics.ts';
import type { Answered } from './ingest/endpoint.ts';
import type { House } from './ingest/house.ts';
import { isStored, type Outcome } from './ingest/replays.ts';
import { writeAudit } from './ingest/write-audit.ts';
import { type DecisionKeys, writeDecisions } from './ingest/write-decisions.ts';
import { writeDetailedEvaluations, writeEvaluations } from './ingest/write-evaluations.ts';
import { writeTelemetry } from './ingest/write-telemetry.ts';
import { writeTraces } from './ingest/write-traces.ts';
import { RememberedHeads } from './ledger/remembered-heads.ts';
import type { OpenDatabase } from './open-database.ts';
import { writeExports } from './otlp/write-exports.ts';
import type { RunIdMerging } from './run-id-merging.ts';

/** Items of a batch, and batches of a tenant under way at once, by kind of record (docs/performance.md). */
const SHAPES = {
  traces: { itemsMax: 32, inFlightMax: 2 },
  exports: { itemsMax: 32, inFlightMax: 2 },
  telemetry: { itemsMax: 16, inFlightMax: 2 },
  // One in flight where order counts: the latest evaluation is the one that came last, and a chain has one end.
  evaluations: { itemsMax: 64, inFlightMax: 1 },
  detailedEvaluations: { itemsMax: 64, inFlightMax: 1 },
  audit: { itemsMax: 128, inFlightMax: 1 },
  decisions: { itemsMax: 128, inFlightMax: 1 },
} as const;

/** Makes the house: one batch writer per kind of record, all on one pool, one queue and one set of connections. */
export function openHouse(parts: {
  database: OpenDatabase;
  queue: Admission;
  metrics: Metrics;
  connections: number;
  runIds: RunIdMerging;
}): House {
  const { database, queue, metrics, runIds } = parts;
  const slots = new Slots(parts.connections);
  const [auditHeads, traceHeads] = [new RememberedHeads(), new RememberedHeads()];
  const decisionKeys = rememberedKeys(database.secrets.masterSecret);
  const writer = <I extends Item>(
    name: keyof typeof SHAPES,
    write: (tx: Transaction, items: readonly I[]) => Promise<Outcome[]>,
    { committed, heads }: { committed?: (outcomes: readonly Outcome[], tenantId: string) => void; heads?: RememberedHeads } = {},
  ): BatchWriter<I, Answered> =>
    new BatchWriter({
      name,
      ...SHAPES[name],
      admission: queue,
      slots,
      write: async (tenantId, items) => {
        database.clock.requireSafe();
        const outcomes = await inTenantTransaction(database.pool, tenantId, (tx) => write(tx, items)).catch((error: unknown) => {
          heads?.drop(tenantId, isWrongGuess(error));
          throw error;
        });
        committed?.(outcomes, tenantId);
        return outcomes;
      },
      observe: (items) => metrics.batchItems.observe({ kind: name }, items),
    });
  const countRuns = (_outcomes: readonly Outcome[], tenantId: string) => runIds.count(tenantId);
  return {
    traces: writer('traces', (tx, items) => writeTraces(tx, items, traceHeads), { committed: countRuns, heads: traceHeads }),
    exports: writer('exports', (tx, items) => writeExports(tx, items, traceHeads), { committed: countRuns, heads: traceHeads }),
    telemetry: writer('telemetry', writeTelemetry, { committed: countRuns }),
    evaluations: writer('evaluations', writeEvaluations),
    detailedEvaluations: writer('detailedEvaluations', writeDetailedEvaluations),
    audit: writer('audit', (tx, items) => writeAudit(tx, items, auditHeads), {
      committed: (outcomes) => metrics.ledgerAppends.inc(outcomes.filter(isStored).length),
      heads: auditHeads,
    }),
    decisions: writer('decisions', (tx, checks) =>
      writeDecisions(tx, checks, decisionKeys, ({ allowed, reason }) => {
        metrics.decisions.inc({ reason });
        if (!allowed) metrics.ledgerAppends.inc();
      }),
    ),
    attest: (decisionJson) => attestationHeader(attestDecision(JSON.parse(decisionJson), database.signer.keys)),
  };
}

/** Derivation is a pure function of secret, tenant and key id, so its results may be remembered. */
function rememberedKeys(masterSecret: Uint8Array): DecisionKeys {
  const known = new Map<string, Uint8Array>();
  return (tenantId, keyId) => {
    const name = `${tenantId}|${keyId}`;
    let key = known.get(name);
    if (key === undefined) {
      if (known.size >= 10_000) known.clear();
      key = deriveDecisionKey(masterSecret, tenantId, keyId);
      known.set(name, key);
    }
    return key;
  };
}
