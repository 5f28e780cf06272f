/**
 * The lower bound of the cost of an acknowledged POST: a group commit writes bodies to a table that has only its primary key. The
 * table has no chain, hash, tree, signature, row-level security or search index. The rate is an upper limit for stored records.
 */
import type { PromotionCheck } from '@countersign/core/contract/promotion-check';
import type { EvidenceState } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { Admission } from '../packages/server/src/database/admission.ts';
import { BatchWriter, type Item } from '../packages/server/src/database/batch-writer.ts';
import { int8Array, textArray } from '../packages/server/src/database/binary-array.ts';
import type { Slots } from '../packages/server/src/database/slots.ts';
import { inTenantTransaction, sql, type Transaction } from '../packages/server/src/database/transaction.ts';
import type { IngestReply } from '../packages/server/src/ingest/ingest-request.ts';
import { evidenceStates } from '../packages/server/src/ledger/evidence-states.ts';

/** SQL that creates the table of bodies, and lets every role insert into it. */
export const CREATE_BARE_TABLE = `
  CREATE TABLE IF NOT EXISTS public.bare (tenant_id uuid NOT NULL, seq bigint NOT NULL, document text NOT NULL, PRIMARY KEY (tenant_id, seq));
  GRANT USAGE ON SCHEMA public TO PUBLIC;
  GRANT INSERT ON public.bare TO PUBLIC;`;

const INSERT = sql(
  'insert_bare',
  `INSERT INTO public.bare (tenant_id, seq, document) SELECT $1, seq, document FROM unnest($2::bigint[], $3::text[]) AS sent (seq, document)`,
);

type EvidenceQuery = Parameters<EvidenceState['find']>[0];

/** A body to store. For a promotion check, `evidenceQuery` selects the evidence to read. */
interface Body extends Item {
  text: string;
  evidenceQuery?: EvidenceQuery;
}

const REPLY: IngestReply = { json: '{"ok":true}', headers: {} };
let lastSeq = 0;

async function write(tx: Transaction, bodies: readonly Body[]): Promise<IngestReply[]> {
  const queries = bodies.flatMap(({ evidenceQuery }) => evidenceQuery ?? []);
  if (queries.length > 0) await evidenceStates.read(tx, (state) => queries.map((evidenceQuery) => state.find(evidenceQuery)));
  const seqs = bodies.map(() => ++lastSeq);
  tx.send(INSERT, [tx.tenantId, int8Array(seqs), textArray(bodies.map(({ text }) => text))]);
  await tx.commit();
  return bodies.map(() => REPLY);
}

/** Creates a store of bodies. `storeCheck` reads the evidence of a promotion check first. */
export function bareStorage(pool: Pool, slots: Slots, queueBytesMax: number) {
  const writer = new BatchWriter<Body, IngestReply>({
    name: 'bare',
    itemsMax: 128,
    inFlightMax: 1,
    admission: new Admission(queueBytesMax),
    slots,
    write: (tenantId, bodies) => inTenantTransaction(pool, tenantId, (tx) => write(tx, bodies)),
  });
  const body = (document: Buffer): Body => ({ bytes: document.length, batchKeys: [], text: document.toString() });
  return {
    store: (tenantId: string, document: Buffer) => writer.submit(tenantId, body(document)),
    storeCheck: (tenantId: string, document: Buffer, { agent_id, agent_name, harness_id }: PromotionCheck) =>
      writer.submit(tenantId, {
        ...body(document),
        evidenceQuery: { agent_id: agent_id ?? null, agent_name: agent_name ?? null, harness_id: harness_id ?? null },
      }),
  };
}
