import type { OTLP_MEDIA_TYPES } from '@countersign/core/contract/otlp-operations';
import type { Signal } from '@countersign/core/otlp/protobuf-bounds';
import type { SpanRecord } from '@countersign/core/otlp/records';
import type { Principal } from '../ingest/ingest-request.ts';
import type { PreparedTrace } from '../ingest/prepared-trace.ts';
import type { Replayable } from '../ingest/replays.ts';
import type { KeptLogRecord } from '../storage/log-records.ts';
import type { Shortfall } from './answers.ts';

/** The encodings of OTLP/HTTP. */
export type MediaType = (typeof OTLP_MEDIA_TYPES)[number];

/** An export that has passed authentication, with its body's own bytes. */
export interface ExportRequest {
  principal: Principal;
  signal: Signal;
  mediaType: MediaType;
  /** The decompressed body as it came. */
  document: Buffer;
}

/** The records of a body, and what became of it. */
export interface ReadExport<Record = SpanRecord> {
  records: Record[];
  /** Whether user ids that are personal data were taken out of the records and overwritten in the body. */
  isRedacted: boolean;
  /** The body to keep where it had to be written anew; otherwise it is the request's document. */
  body?: string;
}

/** A trace of an export before it is queued. Survives a structured clone: its document is text. */
export type TraceOfExport = Omit<PreparedTrace, 'document' | 'bytes' | 'foldKeys' | 'idempotency'> & { json: string };

/** A log record of an export, or a finding in one of its spans. */
export type LogOfExport = Omit<KeptLogRecord, 'recordedBy' | 'export'>;

/** An export before it is queued. */
export interface PreparedExport extends Replayable {
  signal: Signal;
  mediaType: MediaType;
  isRedacted: boolean;
  /** Set where the body was written anew. */
  body?: string;
  recordedBy: string;
  traces: TraceOfExport[];
  logs: LogOfExport[];
  /** What of it is not stored, as far as the body says. */
  shortfall: Shortfall;
}

/** An export as its writer needs it: with the bytes to keep. */
export interface QueuedExport extends Omit<PreparedExport, 'body' | 'traces'> {
  body: Buffer;
  traces: PreparedTrace[];
}
