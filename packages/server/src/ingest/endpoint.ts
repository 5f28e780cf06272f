import type { Operation } from '@countersign/core/contract/operations';
import type { IngestReply, IngestRequest } from './ingest-request.ts';
import type { RecordWriters } from './record-writers.ts';

/** An endpoint in two steps: the work on the body alone, and the work that needs the database. */
export interface Endpoint<Body, Prepared> {
  /**
   * Computes from a body what the writer needs. The result does not contain the bytes of the body. For large bodies it is computed on a
   * worker thread, so it must survive a structured clone: no class instances, no Buffers.
   * @throws ApiError for a body that cannot be accepted.
   */
  prepare(request: IngestRequest, body: Body): Prepared;
  /** Writes the prepared record, and resolves with the reply when the record is committed. */
  submit(writers: RecordWriters, request: IngestRequest, prepared: Prepared): Promise<IngestReply>;
}

/** The body of an operation, by its contract. */
export type BodyOf<O> = O extends Operation<infer Body, unknown> ? Body : never;
